import BackupCore
import CFUSE
import Glibc
import VirtualTree

/// libfuse's session of a mount, and what can be sent through it to the kernel besides replies.
///
/// `@unchecked Sendable`: libfuse serves a session, and sends from it, on any thread. All threads that use it must have ended
/// before the session is destroyed.
struct ServedSession: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Answers a request with an error, past the library (`struct fuse_out_header`).
    /// - Parameters:
    ///   - value: the negated errno.
    ///   - request: the number of the request that it answers.
    static func send(_ descriptor: Int32, _ value: Int32, request: UInt64) {
        let message = (length: UInt32(16), value: value, request: request)
        _ = withUnsafeBytes(of: message) { write(descriptor, $0.baseAddress, 16) }
    }

    /// Takes back the attributes. Never blocks.
    func invalidateAttributes(of inode: InodeNumber) {
        // A negative offset: only the attributes.
        fuse_lowlevel_notify_inval_inode(pointer, inode.rawValue, -1, 0)
    }

    /// Hands the whole content of a file to the kernel, which then need not read it. Blocks while a read of the file is being
    /// answered, so call it only while no program has the file open.
    func store(_ content: UnsafeRawBufferPointer, in inode: InodeNumber) {
        var vector = fuse_bufvec()
        vector.count = 1
        vector.buf.size = content.count
        vector.buf.fd = -1
        // libfuse only reads it.
        vector.buf.mem = UnsafeMutableRawPointer(mutating: content.baseAddress)
        // It fails when the kernel does not know the file any more, or is short of memory: programs then read it.
        fuse_lowlevel_notify_store(pointer, inode.rawValue, 0, &vector, FUSE_BUF_NO_SPLICE)
    }

    /// Takes back the attributes, and all pages of a file or the target of a link. Blocks while a read of them is being answered,
    /// so call it only on a thread that no such read needs.
    func invalidateContent(of inode: InodeNumber) {
        fuse_lowlevel_notify_inval_inode(pointer, inode.rawValue, 0, 0)
    }
}
