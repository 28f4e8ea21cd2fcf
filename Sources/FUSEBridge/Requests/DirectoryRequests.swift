import BackupCore
import CFUSE
import Glibc
import VirtualTree

/// Requests about the names in a folder.
enum DirectoryRequests {
    static func open(_ raw: OpaquePointer?, inode: fuse_ino_t, info: inout fuse_file_info) {
        let request = Request(raw)
        do throws(BackupError) {
            let directory = try request.tree.openDirectory(InodeNumber(inode))
            request.reply(opened: directory, info: &info)
        } catch {
            request.fail(error, "opendir")
        }
    }

    /// Names only.
    static func read(_ raw: OpaquePointer?, handle: UInt64, size: Int, offset: off_t) {
        let request = Request(raw)
        let server = request.server
        do throws(BackupError) {
            let block = server.buffers.take()
            defer { withExtendedLifetime(block) {} }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: block.writableBytes.prefix(size))
            var used = 0
            try server.tree.readDirectory(HandleNumber(handle), from: UInt64(offset), countsLookUps: false) {
                name, attributes, nextOffset in
                var status = stat()
                status.st_ino = ino_t(attributes.shownInode.rawValue)
                status.st_mode = mode_t(attributes.kind.modeBits)
                return append(name, to: buffer, used: &used) { address, room, text in
                    fuse_add_direntry(nil, address, room, text, &status, off_t(nextOffset))
                }
            }
            request.reply(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<used]))
        } catch {
            request.fail(error, "readdir")
        }
    }

    /// Names with all attributes: each name except `.` and `..` counts one lookup.
    static func readWithAttributes(_ raw: OpaquePointer?, handle: UInt64, size: Int, offset: off_t) {
        let request = Request(raw)
        let server = request.server
        var counted: [InodeNumber] = []
        do throws(BackupError) {
            let block = server.buffers.take()
            defer { withExtendedLifetime(block) {} }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: block.writableBytes.prefix(size))
            counted.reserveCapacity(buffer.count / 160)
            var used = 0
            try server.tree.readDirectory(HandleNumber(handle), from: UInt64(offset), countsLookUps: true) {
                name, attributes, nextOffset in
                var entry = server.entry(attributes)
                let isTaken = append(name, to: buffer, used: &used) { address, room, text in
                    fuse_add_direntry_plus(nil, address, room, text, &entry, off_t(nextOffset))
                }
                if isTaken, attributes.isRead, name != ".", name != ".." { counted.append(attributes.inode) }
                return isTaken
            }
            if !request.reply(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<used])) {
                giveBack(counted, to: server.tree)
            }
        } catch {
            giveBack(counted, to: server.tree)
            request.fail(error, "readdirplus")
        }
    }

    static func release(_ raw: OpaquePointer?, handle: UInt64) {
        let request = Request(raw)
        request.tree.releaseDirectory(HandleNumber(handle))
        request.succeed()
    }

    /// The kernel never forgets entries that it did not receive.
    private static func giveBack(_ inodes: [InodeNumber], to tree: any TreeOperations) {
        for inode in inodes { tree.forget(inode, count: 1) }
    }

    /// - Parameter encode: writes an entry if it fits into the given space, and returns the size it needs in any case.
    /// - Returns: false when the entry did not fit.
    private static func append(
        _ name: FileName, to buffer: UnsafeMutableRawBufferPointer, used: inout Int,
        encode: (_ address: UnsafeMutablePointer<CChar>?, _ room: Int, _ name: UnsafePointer<CChar>) -> Int
    ) -> Bool {
        let room = buffer.count - used
        let address = buffer.baseAddress.map { ($0 + used).assumingMemoryBound(to: CChar.self) }
        let needed = withUnsafeTemporaryAllocation(of: CChar.self, capacity: name.bytes.count + 1) { text in
            for (index, byte) in name.bytes.enumerated() { text[index] = CChar(bitPattern: byte) }
            text[name.bytes.count] = 0
            return text.baseAddress.map { encode(address, room, UnsafePointer($0)) } ?? Int.max
        }
        guard needed <= room else { return false }
        used += needed
        return true
    }
}
