import BackupCore
import CFUSE
import Glibc
import SystemIO
import VirtualTree

/// Requests about a file as such: find, forget, query and change it.
enum NodeRequests {
    static func lookUp(_ raw: OpaquePointer?, parent: fuse_ino_t, name: UnsafePointer<CChar>?) {
        let request = Request(raw)
        do throws(BackupError) {
            let name = try request.server.name(name)
            do throws(BackupError) {
                let attributes = try request.tree.lookUp(name, in: InodeNumber(parent))
                request.reply(entry: attributes)
            } catch let error where error.code == .notFound {
                let timeout = request.tree.absenceTimeoutSeconds(of: name, in: InodeNumber(parent))
                guard timeout > 0 else { throw error }
                request.reply(absentForSeconds: timeout)
            }
        } catch {
            request.fail(error, "lookup")
        }
    }

    static func forget(_ raw: OpaquePointer?, inode: fuse_ino_t, count: UInt64) {
        let request = Request(raw)
        request.tree.forget(InodeNumber(inode), count: count)
        request.finish()
    }

    static func forget(_ raw: OpaquePointer?, _ items: UnsafeBufferPointer<fuse_forget_data>) {
        let request = Request(raw)
        for item in items { request.tree.forget(InodeNumber(item.ino), count: item.nlookup) }
        request.finish()
    }

    static func getAttributes(_ raw: OpaquePointer?, inode: fuse_ino_t, info: UnsafeMutablePointer<fuse_file_info>?) {
        let request = Request(raw)
        do throws(BackupError) {
            let handle = info.map { HandleNumber($0.pointee.fh) }
            let attributes = try request.tree.attributes(of: InodeNumber(inode), handle: handle)
            request.reply(attributes: attributes)
        } catch {
            request.fail(error, "getattr")
        }
    }

    /// - Parameter fields: the fields of `wanted` to apply (`FUSE_SET_ATTR_…`).
    static func setAttributes(
        _ raw: OpaquePointer?, inode: fuse_ino_t, wanted: stat, fields: Int32, info: UnsafeMutablePointer<fuse_file_info>?
    ) {
        let request = Request(raw)
        do throws(BackupError) {
            var change = AttributeChange()
            if fields & FUSE_SET_ATTR_SIZE != 0 { change.size = UInt64(max(0, wanted.st_size)) }
            if fields & FUSE_SET_ATTR_MODE != 0 { change.permissions = UInt16(truncatingIfNeeded: wanted.st_mode & 0o7777) }
            // The access time is not stored, so a request to set only that changes nothing and is not an error.
            if fields & FUSE_SET_ATTR_MTIME_NOW != 0 {
                change.modificationTime = SystemClock.now()
            } else if fields & FUSE_SET_ATTR_MTIME != 0 {
                change.modificationTime = Timestamp(wanted.st_mtim)
            }
            // `cp -p` and `rsync -a` set the owner that the file already has; that is not a change.
            let changesUser = fields & FUSE_SET_ATTR_UID != 0 && wanted.st_uid != request.server.ownerUser
            let changesGroup = fields & FUSE_SET_ATTR_GID != 0 && wanted.st_gid != request.server.ownerGroup
            change.changesOwner = changesUser || changesGroup
            let handle = info.map { HandleNumber($0.pointee.fh) }
            let attributes = try request.tree.setAttributes(of: InodeNumber(inode), to: change, handle: handle)
            request.reply(attributes: attributes)
        } catch {
            request.fail(error, "setattr")
        }
    }

    static func readLink(_ raw: OpaquePointer?, inode: fuse_ino_t) {
        let request = Request(raw)
        do throws(BackupError) {
            let target = try request.tree.readLink(InodeNumber(inode))
            request.reply(linkTarget: target)
        } catch {
            request.fail(error, "readlink")
        }
    }

    static func space(_ raw: OpaquePointer?) {
        let request = Request(raw)
        do throws(BackupError) {
            let space = try request.tree.space()
            var value = statvfs()
            value.f_bsize = UInt(space.blockSizeBytes)
            value.f_frsize = UInt(space.blockSizeBytes)
            value.f_blocks = fsblkcnt_t(space.blockCount)
            value.f_bfree = fsblkcnt_t(space.freeBlockCount)
            value.f_bavail = fsblkcnt_t(space.availableBlockCount)
            value.f_files = fsfilcnt_t(space.fileCount)
            value.f_ffree = fsfilcnt_t(space.freeFileCount)
            value.f_favail = fsfilcnt_t(space.freeFileCount)
            value.f_namemax = UInt(FileName.byteCountLimit)
            request.reply(space: &value)
        } catch {
            request.fail(error, "statfs")
        }
    }
}
