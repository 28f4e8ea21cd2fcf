import CFUSE
import Glibc

/// The table of callbacks that libfuse calls. Each entry only unpacks C's arguments; the work is done in the `…Requests` files.
/// Calls come from all threads of the session concurrently.
///
/// Left out on purpose:
/// - `access`: with `default_permissions` the kernel decides from the modes without a request.
/// - `getlk`, `setlk`, `flock`: without them the kernel manages locks itself, which is sufficient for programs on one machine.
/// - `fallocate`, `lseek`, `poll`, `bmap`, `ioctl`, `fsyncdir`: the kernel has a default for each.
/// - `destroy`: the tree outlives the mount, and its creator ends it.
enum LowLevelOperations {
    static func make() -> fuse_lowlevel_ops {
        var operations = fuse_lowlevel_ops()
        operations.`init` = { data, connection in
            guard let data, let connection else { return }
            let server = Unmanaged<TreeServer>.fromOpaque(data).takeUnretainedValue()
            ConnectionSettings.negotiate(&connection.pointee, maximumReadBytes: server.maximumReadBytes)
        }
        addNodeRequests(to: &operations)
        addFileRequests(to: &operations)
        addDirectoryRequests(to: &operations)
        addChangeRequests(to: &operations)
        addExtendedAttributeRequests(to: &operations)
        return operations
    }

    private static func addNodeRequests(to operations: inout fuse_lowlevel_ops) {
        operations.lookup = { request, parent, name in NodeRequests.lookUp(request, parent: parent, name: name) }
        operations.forget = { request, inode, count in NodeRequests.forget(request, inode: inode, count: count) }
        operations.forget_multi = { request, count, items in
            NodeRequests.forget(request, UnsafeBufferPointer(start: items, count: count))
        }
        operations.getattr = { request, inode, info in NodeRequests.getAttributes(request, inode: inode, info: info) }
        operations.setattr = { request, inode, wanted, fields, info in
            guard let wanted else { return LowLevelOperations.refuseMalformed(request) }
            NodeRequests.setAttributes(request, inode: inode, wanted: wanted.pointee, fields: fields, info: info)
        }
        operations.readlink = { request, inode in NodeRequests.readLink(request, inode: inode) }
        operations.statfs = { request, _ in NodeRequests.space(request) }
    }

    private static func addFileRequests(to operations: inout fuse_lowlevel_ops) {
        operations.open = { request, inode, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            FileRequests.open(request, inode: inode, info: &info.pointee)
        }
        operations.create = { request, parent, name, mode, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            FileRequests.create(request, parent: parent, name: name, mode: mode, info: &info.pointee)
        }
        operations.read = { request, _, size, offset, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            FileRequests.read(request, handle: info.pointee.fh, size: size, offset: offset)
        }
        operations.write = { request, _, bytes, size, offset, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            let buffer = UnsafeRawBufferPointer(start: bytes, count: size)
            FileRequests.write(request, handle: info.pointee.fh, bytes: buffer, offset: offset)
        }
        operations.copy_file_range = { request, _, sourceOffset, source, _, offset, target, size, _ in
            guard let source, let target else { return LowLevelOperations.refuseMalformed(request) }
            FileRequests.copy(
                request, from: source.pointee.fh, at: sourceOffset, to: target.pointee.fh, at: offset, size: size)
        }
        operations.flush = { request, _, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            FileRequests.flush(request, handle: info.pointee.fh)
        }
        operations.fsync = { request, _, _, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            FileRequests.synchronize(request, handle: info.pointee.fh)
        }
        operations.release = { request, _, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            FileRequests.release(request, handle: info.pointee.fh)
        }
    }

    private static func addDirectoryRequests(to operations: inout fuse_lowlevel_ops) {
        operations.opendir = { request, inode, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            DirectoryRequests.open(request, inode: inode, info: &info.pointee)
        }
        operations.readdir = { request, _, size, offset, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            DirectoryRequests.read(request, handle: info.pointee.fh, size: size, offset: offset)
        }
        operations.readdirplus = { request, _, size, offset, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            DirectoryRequests.readWithAttributes(request, handle: info.pointee.fh, size: size, offset: offset)
        }
        operations.releasedir = { request, _, info in
            guard let info else { return LowLevelOperations.refuseMalformed(request) }
            DirectoryRequests.release(request, handle: info.pointee.fh)
        }
    }

    private static func addChangeRequests(to operations: inout fuse_lowlevel_ops) {
        operations.mkdir = { request, parent, name, mode in
            ChangeRequests.makeDirectory(request, parent: parent, name: name, mode: mode)
        }
        operations.rmdir = { request, parent, name in ChangeRequests.removeDirectory(request, parent: parent, name: name) }
        operations.unlink = { request, parent, name in ChangeRequests.removeFile(request, parent: parent, name: name) }
        operations.rename = { request, parent, name, newParent, newName, flags in
            ChangeRequests.rename(request, parent: parent, name: name, newParent: newParent, newName: newName, flags: flags)
        }
        operations.mknod = { request, _, _, _, _ in ChangeRequests.refuse(request) }
        operations.symlink = { request, target, parent, name in
            ChangeRequests.makeSymbolicLink(request, to: target, parent: parent, name: name)
        }
        operations.link = { request, inode, newParent, newName in
            ChangeRequests.link(request, inode: inode, newParent: newParent, newName: newName)
        }
    }

    private static func addExtendedAttributeRequests(to operations: inout fuse_lowlevel_ops) {
        operations.getxattr = { request, inode, name, size in
            ExtendedAttributeRequests.get(request, inode: inode, name: name, size: size)
        }
        operations.listxattr = { request, inode, size in ExtendedAttributeRequests.list(request, inode: inode, size: size) }
        operations.setxattr = { request, inode, name, value, size, flags in
            let bytes = UnsafeRawBufferPointer(start: value, count: size)
            ExtendedAttributeRequests.set(request, inode: inode, name: name, value: bytes, flags: flags)
        }
        operations.removexattr = { request, inode, name in
            ExtendedAttributeRequests.remove(request, inode: inode, name: name)
        }
    }

    /// libfuse always passes these arguments; if it did not, the calling program would get an error instead of waiting forever.
    private static func refuseMalformed(_ request: OpaquePointer?) { Request(request).fail(number: EIO) }
}

/// The settings negotiated with the kernel when the mount begins.
enum ConnectionSettings {
    static func negotiate(_ connection: inout fuse_conn_info, maximumReadBytes: Int) {
        connection.max_write = UInt32(MountOptions.largestRequestBytes)
        // libfuse ends the session when this differs from the mount option of the same name.
        connection.max_read = UInt32(maximumReadBytes)
        connection.max_readahead = UInt32(MountOptions.largestRequestBytes)

        want(FUSE_CAP_ASYNC_READ, &connection)
        want(FUSE_CAP_ATOMIC_O_TRUNC, &connection)
        want(FUSE_CAP_PARALLEL_DIROPS, &connection)
        // Return attributes with every part of a listing, since they are at hand. With READDIRPLUS_AUTO, the kernel requests them
        // only for the first part, and programs that read all names before they access files then query each of the others.
        want(FUSE_CAP_READDIRPLUS, &connection)
        refuse(FUSE_CAP_READDIRPLUS_AUTO, &connection)
        // Pages are dropped when size or time turn out to differ. Files of snapshots never differ and keep their pages; the files
        // in `live/` may lose them.
        want(FUSE_CAP_AUTO_INVAL_DATA, &connection)

        // Requests come through read(2): splicing them costs more, except for large writes.
        refuse(FUSE_CAP_SPLICE_READ, &connection)
        // A write must have reached the tree when its file is flushed: that is when a restore begins.
        refuse(FUSE_CAP_WRITEBACK_CACHE, &connection)
        // A link whose target may change is another node for each target.
        want(FUSE_CAP_CACHE_SYMLINKS, &connection)
    }

    private static func want(_ capability: Int32, _ connection: inout fuse_conn_info) {
        connection.want |= connection.capable & UInt32(bitPattern: capability)
    }

    private static func refuse(_ capability: Int32, _ connection: inout fuse_conn_info) {
        connection.want &= ~UInt32(bitPattern: capability)
    }
}
