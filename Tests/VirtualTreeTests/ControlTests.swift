import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// `control/`: requests by writing and by setting times.
struct ControlTests {
    private func controls(_ test: TestTree) -> [String] { test.services.state.withLock { $0.controls } }

    @Test func `a write and close is one request, with the line that was written`() throws {
        let test = try TestTree()
        #expect(
            try test.tree.names("control") == [
                "backup", "cancel", "check", "pause", "pin", "prune", "resume", "undelete", "undo", "unpin", "verify",
            ])
        let inode = try test.tree.find("control/backup").inode
        let file = try test.tree.openFile(inode, flags: O_WRONLY, process: 1)
        try test.tree.write("  be", to: file.handle)
        try test.tree.write("fore \n", to: file.handle, at: 4)
        #expect(controls(test) == [])
        for _ in 0..<3 { try test.tree.flush(file.handle, process: 1) }
        test.tree.release(file.handle)
        #expect(controls(test) == ["backup “before”"])
        #expect(try test.tree.content("control/backup") == Array("backup “before”\n".utf8))
        #expect(try test.tree.find("control/backup").size == UInt64("backup “before”\n".utf8.count))
        #expect(try test.tree.content("control/check") == Array("idle\n".utf8))
        // A program that only opens it, or truncates it, asks for nothing.
        let other = try test.tree.openFile(try test.tree.find("control/check").inode, flags: O_WRONLY | O_TRUNC, process: 1)
        try test.tree.flush(other.handle, process: 1)
        test.tree.release(other.handle)
        #expect(controls(test).count == 1)
    }

    /// A descriptor that a child has inherited is closed when the child ends.
    @Test func `only a close by the process that opened it counts, or the last one`() throws {
        let test = try TestTree()
        let inode = try test.tree.find("control/backup").inode
        let file = try test.tree.openFile(inode, flags: O_WRONLY, process: 1)
        try test.tree.write("half-", to: file.handle)
        try test.tree.flush(file.handle, process: 2)
        #expect(controls(test) == [])
        try test.tree.write("whole", to: file.handle, at: 5)
        try test.tree.flush(file.handle, process: 1)
        test.tree.release(file.handle)
        #expect(controls(test) == ["backup “half-whole”"])
        let other = try test.tree.openFile(inode, flags: O_WRONLY, process: 1)
        try test.tree.flush(other.handle, process: 1)
        try test.tree.write("child", to: other.handle)
        try test.tree.flush(other.handle, process: 2)
        #expect(controls(test).count == 1)
        test.tree.release(other.handle)
        #expect(controls(test).last == "backup “child”")
    }

    @Test func `a time that is set is a request, but not one after a write`() throws {
        let test = try TestTree()
        let change = AttributeChange(modificationTime: Timestamp(seconds: 9))
        _ = try test.tree.setAttributes(of: test.tree.find("control/verify").inode, to: change, handle: nil)
        #expect(controls(test) == ["verify “”"])
        let inode = try test.tree.find("control/backup").inode
        let file = try test.tree.openFile(inode, flags: O_WRONLY, process: 1)
        try test.tree.write("x", to: file.handle)
        // `cp -p` does that before it closes the file, others after that.
        _ = try test.tree.setAttributes(of: inode, to: change, handle: nil)
        try test.tree.flush(file.handle, process: 1)
        test.tree.release(file.handle)
        _ = try test.tree.setAttributes(of: inode, to: change, handle: nil)
        _ = try test.tree.setAttributes(of: inode, to: AttributeChange(permissions: 0o600), handle: nil)
        #expect(controls(test) == ["verify “”", "backup “x”"])
    }

    @Test func `what is refused is the result of close, and long or odd text is refused`() throws {
        let test = try TestTree()
        let inode = try test.tree.find("control/pin").inode
        func ask(_ bytes: [UInt8]) throws {
            let file = try test.tree.openFile(inode, flags: O_WRONLY, process: 1)
            defer { test.tree.release(file.handle) }
            try bytes.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try test.tree.write(file.handle, at: 0, bytes) }
            try test.tree.flush(file.handle, process: 1)
        }
        #expect(errorCode { try ask([0xFF, 10]) } == .invalidArgument)
        #expect(errorCode { try ask([UInt8](repeating: 65, count: 2_000)) } == .invalidArgument)
        test.services.refuse(.busy)
        #expect(errorCode { try ask([65]) } == .busy)
        #expect(controls(test) == [])
        let folder = try test.tree.find("control").inode
        #expect(errorCode { try test.tree.removeFile("pin", in: folder) } == .readOnly)
        #expect(errorCode { _ = try test.tree.find("control/format-disk") } == .notFound)
    }
}
