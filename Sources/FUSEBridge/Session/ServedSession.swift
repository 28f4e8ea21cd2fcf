import BackupCore
import CFUSE
import VirtualTree

/// libfuse's session of a mount, and what can be sent through it to the kernel besides replies.
///
/// `@unchecked Sendable`: libfuse serves a session, and sends from it, on any thread. All threads that use it must have ended
/// before the session is destroyed.
struct ServedSession: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes back a name. Blocks while a program changes the folder, or looks up a name that the kernel does not have.
    func invalidate(_ name: FileName, in parent: InodeNumber) {
        // libfuse sends one byte more than the length: the NUL at the end of a C string.
        // The result says whether the kernel knew the name at all; both are fine.
        _ = (name.bytes + [0]).withUnsafeBytes { bytes in
            fuse_lowlevel_notify_inval_entry(
                pointer, parent.rawValue, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), name.bytes.count)
        }
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
