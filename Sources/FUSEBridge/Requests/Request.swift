import BackupCore
import CFUSE
import Glibc
import SystemIO
import VirtualTree

/// A request from the kernel. It is answered exactly once: every reply consumes it, and a
/// request dropped without a reply gets an input/output error, so that no program hangs.
///
/// When a reply cannot be delivered (the calling program was killed meanwhile), the
/// lookups and handles that it would have given to the kernel are released in the tree.
struct Request: ~Copyable {
    private let raw: OpaquePointer

    init(_ raw: OpaquePointer?) {
        guard let raw else { preconditionFailure("libfuse passes the request") }
        self.raw = raw
    }

    deinit {
        LastReply.error = EIO
        fuse_reply_err(raw, EIO)
    }

    var server: TreeServer {
        guard let data = fuse_req_userdata(raw) else { preconditionFailure("the session has user data") }
        // MountSession holds the server as long as the session lives.
        return Unmanaged<TreeServer>.fromOpaque(data).takeUnretainedValue()
    }

    var tree: any TreeOperations { server.tree }

    /// The calling thread, or 0 when it is in a process namespace without a number here.
    var process: Int32 { fuse_req_ctx(raw)?.pointee.pid ?? 0 }

    /// Whether the calling program has received a signal that ends it. Other signals, such as those of a debugger or a suspend,
    /// are no reason to stop.
    var isGivenUp: () -> Bool {
        let raw = raw
        let process = process
        return { fuse_req_interrupted(raw) != 0 && ProcessSignals.endProcess(process) }
    }

    consuming func succeed() { fail(number: 0) }

    consuming func fail(_ error: BackupError, _ name: StaticString) {
        let number = server.errorNumber(error, request: name)
        fail(number: number)
    }

    consuming func fail(number: Int32) {
        let raw = raw
        forgetAnswering()
        LastReply.error = number
        fuse_reply_err(raw, number)
    }

    /// For requests without a reply.
    consuming func finish() {
        let raw = raw
        forgetAnswering()
        fuse_reply_none(raw)
    }

    consuming func reply(entry attributes: NodeAttributes) {
        let raw = raw
        let server = server
        forgetAnswering()
        var entry = server.entry(attributes)
        if fuse_reply_entry(raw, &entry) != 0 { server.tree.forget(attributes.inode, count: 1) }
    }

    /// There is no such name, and the kernel may cache that for some time.
    consuming func reply(absentForSeconds timeout: Double) {
        let raw = raw
        forgetAnswering()
        var entry = fuse_entry_param()
        entry.entry_timeout = timeout
        LastReply.error = ENOENT
        fuse_reply_entry(raw, &entry)
    }

    consuming func reply(created attributes: NodeAttributes, file: OpenedFile, info: inout fuse_file_info) {
        let raw = raw
        let server = server
        forgetAnswering()
        var entry = server.entry(attributes)
        info.describe(file)
        if fuse_reply_create(raw, &entry, &info) != 0 {
            server.tree.release(file.handle)
            server.tree.forget(attributes.inode, count: 1)
        }
    }

    consuming func reply(opened file: OpenedFile, info: inout fuse_file_info) {
        let raw = raw
        let server = server
        forgetAnswering()
        info.describe(file)
        // The kernel sends a flush for every close(2). Without writing there is nothing to
        // flush, and a program that reads many small files saves a round trip for each.
        if info.flags & O_ACCMODE == O_RDONLY, info.flags & O_TRUNC == 0 { info.noflush = 1 }
        if fuse_reply_open(raw, &info) != 0 { server.tree.release(file.handle) }
    }

    consuming func reply(opened directory: OpenedDirectory, info: inout fuse_file_info) {
        let raw = raw
        let server = server
        forgetAnswering()
        info.fh = directory.handle.rawValue
        info.cache_readdir = directory.keepsCache ? 1 : 0
        info.keep_cache = directory.keepsCache ? 1 : 0
        if fuse_reply_open(raw, &info) != 0 { server.tree.releaseDirectory(directory.handle) }
    }

    consuming func reply(attributes: NodeAttributes) {
        let raw = raw
        let server = server
        forgetAnswering()
        var status = server.status(attributes)
        fuse_reply_attr(raw, &status, attributes.attributeTimeoutSeconds)
    }

    /// - Returns: false when the reply could not be delivered.
    @discardableResult
    consuming func reply(bytes: UnsafeRawBufferPointer) -> Bool {
        let raw = raw
        forgetAnswering()
        return fuse_reply_buf(raw, bytes.baseAddress, bytes.count) == 0
    }

    consuming func reply(linkTarget target: [UInt8]) {
        let raw = raw
        forgetAnswering()
        let text = target.map { CChar(bitPattern: $0) } + [0]
        fuse_reply_readlink(raw, text)
    }

    consuming func reply(writtenBytes count: Int) {
        let raw = raw
        forgetAnswering()
        fuse_reply_write(raw, count)
    }

    /// The reply to getxattr(2) and listxattr(2), which ask for the length first and then for the bytes.
    /// - Parameter limit: size of the caller's buffer in bytes; 0 requests the length.
    consuming func reply(attributeValue value: [UInt8], limit: Int) {
        if value.count > Self.attributeValueLimitBytes { return fail(number: E2BIG) }
        if limit > 0, limit < value.count { return fail(number: ERANGE) }
        let raw = raw
        forgetAnswering()
        if limit == 0 {
            fuse_reply_xattr(raw, value.count)
        } else {
            _ = value.withUnsafeBytes { fuse_reply_buf(raw, $0.baseAddress, $0.count) }
        }
    }

    consuming func reply(space: inout statvfs) {
        let raw = raw
        forgetAnswering()
        fuse_reply_statfs(raw, &space)
    }

    /// Linux's limit for a value and for the list of names (`XATTR_SIZE_MAX`).
    private static let attributeValueLimitBytes = 65_536

    /// Ends the request without `deinit`, just before the reply.
    private consuming func forgetAnswering() { discard self }
}

extension fuse_file_info {
    /// Sets what the kernel needs to know about an open file.
    fileprivate mutating func describe(_ file: OpenedFile) {
        fh = file.handle.rawValue
        keep_cache = file.keepsCache ? 1 : 0
        direct_io = file.usesDirectIO ? 1 : 0
    }
}

extension TreeServer {
    func entry(_ attributes: NodeAttributes) -> fuse_entry_param {
        var entry = fuse_entry_param()
        entry.ino = attributes.inode.rawValue
        // Inode numbers are never reused for another file, so one generation is enough.
        entry.generation = 0
        entry.attr = status(attributes)
        entry.attr_timeout = attributes.attributeTimeoutSeconds
        entry.entry_timeout = attributes.entryTimeoutSeconds
        return entry
    }
}
