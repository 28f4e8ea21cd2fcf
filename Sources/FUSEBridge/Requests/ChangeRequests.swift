import BackupCore
import CFUSE
import Glibc
import VirtualTree

/// Requests that create, remove and rename.
enum ChangeRequests {
    /// `RENAME_NOREPLACE` of renameat2(2), which Glibc's Swift module does not show.
    private static let renameWithoutReplacing: UInt32 = 1

    /// - Parameter mode: after the umask of the program.
    static func makeDirectory(_ raw: OpaquePointer?, parent: fuse_ino_t, name: UnsafePointer<CChar>?, mode: mode_t) {
        let request = Request(raw)
        do throws(BackupError) {
            let name = try request.server.name(name)
            let attributes = try request.tree.makeDirectory(
                name, in: InodeNumber(parent), permissions: UInt16(truncatingIfNeeded: mode & 0o7777), unless: request.isGivenUp)
            request.reply(entry: attributes)
        } catch {
            request.fail(error, "mkdir")
        }
    }

    static func removeDirectory(_ raw: OpaquePointer?, parent: fuse_ino_t, name: UnsafePointer<CChar>?) {
        let request = Request(raw)
        do throws(BackupError) {
            let name = try request.server.name(name)
            try request.tree.removeDirectory(name, in: InodeNumber(parent))
            request.succeed()
        } catch {
            request.fail(error, "rmdir")
        }
    }

    static func removeFile(_ raw: OpaquePointer?, parent: fuse_ino_t, name: UnsafePointer<CChar>?) {
        let request = Request(raw)
        do throws(BackupError) {
            let name = try request.server.name(name)
            try request.tree.removeFile(name, in: InodeNumber(parent))
            request.succeed()
        } catch {
            request.fail(error, "unlink")
        }
    }

    static func rename(
        _ raw: OpaquePointer?, parent: fuse_ino_t, name: UnsafePointer<CChar>?, newParent: fuse_ino_t,
        newName: UnsafePointer<CChar>?, flags: UInt32
    ) {
        let request = Request(raw)
        // RENAME_EXCHANGE and RENAME_WHITEOUT; rename(2) returns EINVAL when a file system does not support a flag.
        guard flags & ~renameWithoutReplacing == 0 else {
            request.fail(number: EINVAL)
            return
        }
        do throws(BackupError) {
            let name = try request.server.name(name)
            let newName = try request.server.name(newName)
            try request.tree.rename(
                name, in: InodeNumber(parent), to: newName, in: InodeNumber(newParent),
                mayReplace: flags & renameWithoutReplacing == 0)
            request.succeed()
        } catch {
            request.fail(error, "rename")
        }
    }

    static func makeSymbolicLink(
        _ raw: OpaquePointer?, to target: UnsafePointer<CChar>?, parent: fuse_ino_t, name: UnsafePointer<CChar>?
    ) {
        let request = Request(raw)
        do throws(BackupError) {
            let name = try request.server.name(name)
            guard let target else { throw BackupError(.invalidArgument, "the link has no target", path: name.description) }
            let path = UnsafeRawBufferPointer(start: target, count: strlen(target))
            let attributes = try request.tree.makeSymbolicLink(name, to: Array(path), in: InodeNumber(parent))
            request.reply(entry: attributes)
        } catch {
            request.fail(error, "symlink")
        }
    }

    static func link(
        _ raw: OpaquePointer?, inode: fuse_ino_t, newParent: fuse_ino_t, newName: UnsafePointer<CChar>?
    ) {
        let request = Request(raw)
        do throws(BackupError) {
            let name = try request.server.name(newName)
            let attributes = try request.tree.link(InodeNumber(inode), as: name, in: InodeNumber(newParent))
            request.reply(entry: attributes)
        } catch {
            request.fail(error, "link")
        }
    }

    /// mknod(2) returns EPERM when a file system does not support it. Without this callback, libfuse would return ENOSYS, which
    /// programs show as "Function not implemented".
    static func refuse(_ raw: OpaquePointer?) {
        Request(raw).fail(number: EPERM)
    }
}
