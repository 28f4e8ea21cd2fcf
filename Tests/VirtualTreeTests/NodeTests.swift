import BackupCore
import BackupRepository
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// Inode numbers, look-up counts and folders that are read while they change.
struct NodeTests {
    /// The inode numbers of everything in a tree, by path.
    private static func walk(
        _ tree: VirtualTree, _ folder: InodeNumber = .root, _ path: String = "", into inodes: inout [String: UInt64]
    ) throws {
        let handle = try tree.openDirectory(folder).handle
        defer { tree.releaseDirectory(handle) }
        var children: [(String, FileName, NodeAttributes)] = []
        try tree.readDirectory(handle, from: 2, countsLookUps: false) { name, attributes, _ in
            children.append(("\(path)/\(name)", name, attributes))
            return true
        }
        for (path, name, attributes) in children {
            inodes[path] = attributes.inode.rawValue
            let found = try tree.lookUp(name, in: folder)
            #expect(found.inode == attributes.inode, "\(path)")
            #expect(found == attributes, "\(path)")
            if attributes.kind == .directory { try walk(tree, attributes.inode, path, into: &inodes) }
            tree.forget(found.inode, count: 1)
        }
    }

    @Test func `numbers are unique, and the same after every mount`() throws {
        let test = try TestTree()
        var first: [String: UInt64] = [:]
        try Self.walk(test.tree, into: &first)
        #expect(first.count > 40)
        #expect(Set(first.values).count == first.count)
        #expect(first.values.allSatisfy { $0 >= 1024 && $0 <= UInt64(Int64.max) })
        var second: [String: UInt64] = [:]
        try Self.walk(test.remounted(), into: &second)
        #expect(first == second)
        #expect(test.tree.openCounts == (0, 0, 0))
        // A snapshot keeps its numbers when it is renamed.
        let folder = try test.tree.find("snapshots").inode
        try test.tree.rename("first", in: folder, to: "renamed", in: folder, mayReplace: true)
        #expect(
            try test.tree.find("snapshots/renamed/media/photo.jpg").inode.rawValue == first["/snapshots/first/media/photo.jpg"])
    }

    @Test func `derived numbers of a million names differ`() {
        var numbers: Set<UInt64> = []
        for folder in 1...10 {
            for index in 0..<20_000 { numbers.insert(InodeNumber(UInt64(folder)).child(FileName("IMG_\(index).jpg")).rawValue) }
        }
        #expect(numbers.count == 200_000)
        #expect(InodeNumber.root.child("ab") != InodeNumber.root.child("ba"))
    }

    @Test func `look-ups are counted, and given back`() throws {
        let tree = try TestTree().tree
        #expect(tree.openCounts == (0, 0, 0))
        let folder = try tree.lookUp("snapshots", in: .root)
        _ = try tree.lookUp("snapshots", in: .root)
        let file = try tree.lookUp("README.txt", in: .root)
        #expect(tree.openCounts == (0, 0, 2))
        tree.forget(folder.inode, count: 1)
        #expect(try tree.attributes(of: folder.inode, handle: nil).kind == .directory)
        tree.forget(folder.inode, count: 1)
        #expect(errorCode { _ = try tree.attributes(of: folder.inode, handle: nil) } == .notFound)
        // More look-ups than there were, and of an unknown inode: nothing happens.
        tree.forget(file.inode, count: 99)
        tree.forget(file.inode, count: 1)
        tree.forget(InodeNumber(424_242), count: 1)
        tree.forget(.root, count: 1000)
        #expect(tree.openCounts == (0, 0, 0))
        #expect(try tree.attributes(of: .root, handle: nil).kind == .directory)
        // A name that is not there counts nothing.
        #expect(errorCode { _ = try tree.lookUp("none", in: .root) } == .notFound)
        #expect(tree.openCounts.nodes == 0)
    }

    @Test func `creating and making count one look-up each`() throws {
        let tree = try TestTree().tree
        let restore = try tree.lookUp("restore", in: .root).inode
        let snapshots = try tree.lookUp("snapshots", in: .root).inode
        let (attributes, file) = try tree.createFile("x", in: restore, flags: O_WRONLY | O_CREAT, process: getpid())
        let made = try tree.makeDirectory("made", in: snapshots)
        #expect(tree.openCounts == (1, 0, 4))
        tree.release(file.handle)
        for inode in [restore, snapshots, attributes.inode, made.inode] { tree.forget(inode, count: 1) }
        #expect(tree.openCounts == (0, 0, 0))
    }

    @Test func `reading a folder with look-ups counts what was taken, and no more`() throws {
        let tree = try TestTree().tree
        let handle = try tree.openDirectory(.root).handle
        var taken: [InodeNumber] = []
        try tree.readDirectory(handle, from: 0, countsLookUps: true) { name, attributes, offset in
            if taken.count == 3 { return false }
            if name != ".", name != ".." { taken.append(attributes.inode) }
            return true
        }
        #expect(taken.count == 3)
        #expect(tree.openCounts == (0, 1, 3))
        for inode in taken { tree.forget(inode, count: 1) }
        tree.releaseDirectory(handle)
        tree.releaseDirectory(handle)
        #expect(tree.openCounts == (0, 0, 0))
        #expect(
            errorCode {
                try tree.readDirectory(handle, from: 0, countsLookUps: false) { _, _, _ in true }
            } == .badHandle)
    }

    @Test func `a folder can be gone on with at every offset`() throws {
        let tree = try TestTree().tree
        for path in ["", "snapshots", "snapshots/first", "snapshots/first/media", "restore", "exports", "live"] {
            let inode = try tree.find(path).inode
            let handle = try tree.openDirectory(inode).handle
            defer { tree.releaseDirectory(handle) }
            var all: [(FileName, UInt64)] = []
            try tree.readDirectory(handle, from: 0, countsLookUps: false) { name, _, offset in
                all.append((name, offset))
                return true
            }
            #expect(all[0].0 == "." && all[1].0 == "..")
            #expect(Set(all.map(\.1)).count == all.count)
            // One name at a time, as with the smallest buffer.
            var names: [FileName] = []
            var offset: UInt64 = 0
            for _ in 0...all.count {
                var next: UInt64?
                try tree.readDirectory(handle, from: offset, countsLookUps: false) { name, _, nextOffset in
                    if next != nil { return false }
                    next = nextOffset
                    names.append(name)
                    return true
                }
                guard let next else { break }
                offset = next
            }
            #expect(names == all.map(\.0), "\(path)")
            for (index, entry) in all.enumerated() {
                var rest: [FileName] = []
                try tree.readDirectory(handle, from: entry.1, countsLookUps: false) { name, _, _ in
                    rest.append(name)
                    return true
                }
                #expect(rest == all[(index + 1)...].map(\.0), "\(path) from \(entry.1)")
            }
            try tree.readDirectory(handle, from: 10_000, countsLookUps: false) { _, _, _ in
                Issue.record("there is nothing so far behind the end")
                return true
            }
        }
    }

    @Test func `a folder that changes while it is read neither repeats nor skips a name`() throws {
        let test = try TestTree()
        let tree = test.tree
        let folder = try tree.find("snapshots").inode
        for name in ["b", "d", "f"] { _ = try tree.makeDirectory(FileName(name), in: folder) }
        let handle = try tree.openDirectory(folder).handle
        var names: [String] = []
        var offset: UInt64 = 0
        try tree.readDirectory(handle, from: 0, countsLookUps: false) { name, _, next in
            if names.count == 4 { return false }
            names.append(name.description)
            offset = next
            return true
        }
        try tree.removeDirectory("first", in: folder)
        try tree.removeDirectory("f", in: folder)
        _ = try tree.makeDirectory("a", in: folder)
        try tree.readDirectory(handle, from: offset, countsLookUps: true) { name, _, _ in
            names.append(name.description)
            return true
        }
        #expect(names == [".", "..", "first", "second", "b", "d", "f", "latest"])
        // From the start again, it is what is there now.
        names = []
        try tree.readDirectory(handle, from: 0, countsLookUps: false) { name, _, _ in
            names.append(name.description)
            return true
        }
        #expect(Set(names) == [".", "..", "second", "b", "d", "a", "latest"])
        tree.releaseDirectory(handle)
    }
}
