import BackupCore
import CFUSE
import Glibc
import VirtualTree

/// Requests about the content of a file.
enum FileRequests {
    /// `O_TRUNC` comes with the flags (`FUSE_CAP_ATOMIC_O_TRUNC`): truncating and opening is one step, without a separate setattr
    /// that has no handle.
    static func open(_ raw: OpaquePointer?, inode: fuse_ino_t, info: inout fuse_file_info) {
        let request = Request(raw)
        do throws(BackupError) {
            let server = request.server
            let inode = InodeNumber(inode)
            let file = try server.tree.openFile(inode, flags: info.flags, process: request.process) { content in
                server.session?.store(content, in: inode)
            }
            request.reply(opened: file, info: &info)
        } catch {
            request.fail(error, "open")
        }
    }

    /// - Parameter mode: after the umask of the program.
    static func create(
        _ raw: OpaquePointer?, parent: fuse_ino_t, name: UnsafePointer<CChar>?, mode: mode_t, info: inout fuse_file_info
    ) {
        let request = Request(raw)
        do throws(BackupError) {
            let name = try request.server.name(name)
            let created = try request.tree.createFile(
                name, in: InodeNumber(parent), flags: info.flags, process: request.process,
                permissions: UInt16(truncatingIfNeeded: mode & 0o7777))
            request.reply(created: created.attributes, file: created.file, info: &info)
        } catch {
            request.fail(error, "create")
        }
    }

    static func read(_ raw: OpaquePointer?, handle: UInt64, size: Int, offset: off_t) {
        let request = Request(raw)
        do throws(BackupError) {
            let block = request.server.buffers.take()
            defer { withExtendedLifetime(block) {} }
            // The kernel does not request more than was negotiated; if it did, a short reply would look like the end of the file.
            guard size <= block.writableBytes.count, offset >= 0 else {
                throw BackupError(.invalidArgument, "a read of \(size) bytes at \(offset) is out of range")
            }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: block.writableBytes[..<size])
            let count = try request.tree.read(HandleNumber(handle), at: UInt64(offset), into: buffer)
            request.reply(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        } catch {
            request.fail(error, "read")
        }
    }

    /// `bytes` are in the buffer that libfuse read the request into: they are not copied on their way to the tree.
    static func write(_ raw: OpaquePointer?, handle: UInt64, bytes: UnsafeRawBufferPointer, offset: off_t) {
        let request = Request(raw)
        do throws(BackupError) {
            guard offset >= 0 else { throw BackupError(.invalidArgument, "a write at \(offset) is out of range") }
            request.tree.noteWriter(request.process, of: HandleNumber(handle))
            try request.tree.write(HandleNumber(handle), at: UInt64(offset), bytes)
            request.reply(writtenBytes: bytes.count)
        } catch {
            request.fail(error, "write")
        }
    }

    /// The kernel sends it when both files are in this mount; `cp` tries it first.
    static func copy(
        _ raw: OpaquePointer?, from source: UInt64, at sourceOffset: off_t, to target: UInt64, at offset: off_t, size: Int
    ) {
        let request = Request(raw)
        do throws(BackupError) {
            guard sourceOffset >= 0, offset >= 0, size >= 0 else {
                throw BackupError(.invalidArgument, "a copy of \(size) bytes from \(sourceOffset) to \(offset) is out of range")
            }
            request.tree.noteWriter(request.process, of: HandleNumber(target))
            let count = try request.tree.copy(
                from: HandleNumber(source), at: UInt64(sourceOffset), to: HandleNumber(target), at: UInt64(offset),
                count: UInt64(size))
            request.reply(writtenBytes: Int(count))
        } catch {
            request.fail(error, "copy_file_range")
        }
    }

    static func flush(_ raw: OpaquePointer?, handle: UInt64) {
        let request = Request(raw)
        do throws(BackupError) {
            try request.tree.flush(HandleNumber(handle), process: request.process)
            request.succeed()
        } catch {
            request.fail(error, "flush")
        }
    }

    static func synchronize(_ raw: OpaquePointer?, handle: UInt64) {
        let request = Request(raw)
        do throws(BackupError) {
            try request.tree.synchronize(HandleNumber(handle))
            request.succeed()
        } catch {
            request.fail(error, "fsync")
        }
    }

    static func release(_ raw: OpaquePointer?, handle: UInt64) {
        let request = Request(raw)
        request.tree.release(HandleNumber(handle))
        request.succeed()
    }
}
