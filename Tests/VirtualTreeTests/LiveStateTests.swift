import BackupCore
import Glibc
import TestSupport
import Testing

@testable import VirtualTree

/// Each state of a live file is a node of its own, and shows itself under one number.
struct LiveStateTests {
    private static func tree() throws -> TestTree {
        let test = try TestTree()
        test.services.state.withLock { state in
            state.liveHasVersions = true
            state.liveText = "first state"
        }
        return test
    }

    private static func change(_ test: TestTree, _ text: String) { test.services.state.withLock { $0.liveText = text } }

    private static func read(_ tree: VirtualTree, _ file: OpenedFile) throws -> String {
        var buffer = [UInt8](repeating: 0, count: 100)
        let count = try buffer.withUnsafeMutableBytes { try tree.read(file.handle, at: 0, into: $0) }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    @Test func `states differ for the kernel and not for people`() throws {
        let test = try Self.tree()
        let tree = test.tree
        let first = try tree.find("live/export.json")
        #expect(try tree.find("live/export.json").inode == first.inode)
        Self.change(test, "second")
        let second = try tree.find("live/export.json")
        #expect(second.inode != first.inode && second.shownInode == first.shownInode)
        #expect(first.size == 11 && second.size == 6 && second.attributeTimeoutSeconds > 1e6 && second.entryTimeoutSeconds == 0)
        // What the kernel knows of the first state stays true of it.
        #expect(try tree.attributes(of: first.inode, handle: nil) == first)
        Self.change(test, "first state")
        #expect(try tree.find("live/export.json").inode == first.inode)
    }

    @Test func `pages are kept of what cannot have changed since`() throws {
        let test = try Self.tree()
        let tree = test.tree
        for (path, keeps) in [("live/export.json", true), ("live/media/now.jpg", false)] {
            let file = try tree.openFile(try tree.find(path).inode, flags: O_RDONLY, process: 1)
            #expect(file.keepsCache == keeps && file.usesDirectIO == !keeps, "\(path)")
            tree.release(file.handle)
        }
    }

    @Test func `a state that went between looking and opening is opened all the same, an older one is not`() throws {
        let test = try Self.tree()
        let tree = test.tree
        let first = try tree.find("live/export.json")
        // The app writes all the time, and others look: five states, of which the last one and four more are kept for a moment.
        for number in 2...5 {
            Self.change(test, "state \(number)")
            _ = try tree.find("live/export.json")
        }
        let file = try tree.openFile(first.inode, flags: O_RDONLY, process: 1)
        #expect(try Self.read(tree, file) == "first state")
        Self.change(test, "state 6")
        let last = try tree.openFile(tree.find("live/export.json").inode, flags: O_RDONLY, process: 1)
        #expect(errorCode { _ = try tree.openFile(first.inode, flags: O_RDONLY, process: 1) } == .stale)
        #expect(try Self.read(tree, last) == "state 6" && Self.read(tree, file) == "first state")
        tree.release(file.handle)
        tree.release(last.handle)
    }
}
