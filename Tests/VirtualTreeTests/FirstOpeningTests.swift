import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import VirtualTree

/// Which files' contents the kernel gets when they are opened, and when.
struct FirstOpeningTests {
    /// What the kernel gets when a file is opened and closed; `nil` for nothing.
    private func given(_ tree: VirtualTree, _ inode: InodeNumber, flags: Int32 = O_RDONLY) throws -> [UInt8]? {
        var given: [UInt8]?
        let file = try tree.openFile(inode, flags: flags, process: getpid()) { bytes in
            #expect(given == nil)
            given = Array(bytes)
        }
        tree.release(file.handle)
        return given
    }

    @Test func `the first opening gives the content, the next ones do not`() throws {
        let tree = try TestTree().tree
        for path in ["export.json", "data/cars.json", "media/photo.jpg", "media/sub/.hidden"] {
            let inode = try tree.find("snapshots/second/\(path)").inode
            let content = try tree.content("snapshots/first/\(path)")
            let expected = path == "export.json" ? Array("{\"name\": \"second\"}\n".utf8) : content
            #expect(try given(tree, inode) == expected, "\(path)")
            #expect(try given(tree, inode) == nil)
            // Another lookup does not make it new; after it was forgotten it is.
            _ = try tree.find("snapshots/second/\(path)")
            #expect(try given(tree, inode) == nil)
            tree.forget(inode, count: 2)
            #expect(try given(tree, tree.find("snapshots/second/\(path)").inode) == expected)
        }
    }

    @Test func `files that are empty, large, computed, live or read directly are not given`() throws {
        let test = try TestTree()
        let writer = try test.repository.makeWriter()
        let limit = Int(FirstOpenings.sizeLimitBytes)
        let time = Timestamp(seconds: 5000)
        func file(_ name: FileName, _ count: Int) throws -> TreeEntry {
            .file(
                name: name, mode: 0o600, modificationTime: time,
                stored: try writer.store([UInt8](repeating: 7, count: count), policy: .structuredText))
        }
        let root = try writer.store([try file("large", limit + 1), try file("small", limit)])
        try writer.publishChunks()
        _ = try writer.commit(
            SnapshotRecord(
                kind: .snapshot, name: "sizes", creationTime: time, parent: nil, root: root, archiveSizeBytes: 1000,
                archiveLayout: [:], attributes: [:]))
        #expect(try given(test.tree, test.tree.find("snapshots/sizes/small").inode)?.count == limit)
        for path in ["snapshots/sizes/large", "snapshots/second/media/empty", "snapshots/second/SHA256SUMS", "README.txt"] {
            #expect(try given(test.tree, test.tree.find(path).inode) == nil, "\(path)")
        }
        // While it is open like this, a program may be reading it.
        let direct = try test.tree.find("snapshots/first/export.json").inode
        #expect(try given(test.tree, direct, flags: directFlag) == nil)
        #expect(try given(test.tree, direct) == nil)
        #expect(errorCode { _ = try given(test.tree, direct, flags: O_RDWR) } == .readOnly)
    }

    #if arch(x86_64) || arch(i386)
        private let directFlag: Int32 = 0o40000
    #else
        private let directFlag: Int32 = 0o200000
    #endif

    @Test func `while the content is being given, no other program opens the file`() throws {
        let tree = try TestTree().tree
        let inode = try tree.find("snapshots/second/export.json").inode
        let other = try tree.find("snapshots/second/manifest.json").inode
        let opened = Atomic(0)
        var threads: [SystemThread] = []
        let file = try tree.openFile(inode, flags: O_RDONLY, process: getpid()) { _ in
            for _ in 0..<4 {
                let thread = try? SystemThread {
                    let file = try? tree.openFile(inode, flags: O_RDONLY, process: getpid()) { _ in Issue.record("given twice") }
                    if let file { tree.release(file.handle) }
                    opened.add(1, ordering: .sequentiallyConsistent)
                }
                if let thread { threads.append(thread) }
            }
            // Other files are not affected.
            let beside = try? tree.openFile(other, flags: O_RDONLY, process: getpid()) { _ in }
            if let beside { tree.release(beside.handle) }
            #expect(beside != nil && opened.load(ordering: .sequentiallyConsistent) == 0)
        }
        for thread in threads { thread.join() }
        #expect(threads.count == 4 && opened.load(ordering: .sequentiallyConsistent) == 4)
        tree.release(file.handle)
        #expect(tree.openCounts.files == 0)
    }
}
