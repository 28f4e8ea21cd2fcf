import BackupCore
import TestSupport
import Testing

@testable import SystemIO

/// Many small files that are read from their storage at once.
struct UncachedReadsTests {
    @Test func `files are read whole; what is not there, or has another size, is left to others`() throws {
        let root = try TemporaryFolder.make("/var/tmp/uncached")
        defer { try? FileSystem.removeTree(root) }
        let folder = try DirectoryHandle(path: root)
        let sizes = [0, 1, 4_095, 4_096, 4_097, 8_192, 65_535, 65_536] + (0..<100).map { $0 * 97 }
        let contents = sizes.map { size in (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) } }
        for (index, bytes) in contents.enumerated() {
            let file = try folder.createFile(FileName("\(index)"), upTo: 0o600)
            try file.writeAll(bytes)
            try file.synchronize()
        }
        try folder.makeDirectoryIfMissing("folder")
        try folder.createLink("link", to: Array("1".utf8), modificationTime: Timestamp(seconds: 0))
        var requests = sizes.enumerated().map { UncachedReads.Request(FileName("\($0)"), in: folder, size: UInt64($1)) }
        for (name, size): (FileName, UInt64) in [("folder", 4_096), ("link", 1), ("none", 1), ("1", 2), ("2", 4_094)] {
            requests.insert(UncachedReads.Request(name, in: folder, size: size), at: requests.count / 2)
        }
        // Some containers have no such reads, and some file systems no direct ones.
        guard let reads = UncachedReads(), try UncachedFile("1", in: folder).method == .direct else { return }
        var found: [[UInt8]?] = []
        while found.count < requests.count {
            let part = reads.read(requests[found.count...])
            #expect(!part.isEmpty && part.count <= UncachedReads.fileCountLimit)
            found += part.map { $0.map { Array($0.bytes) } }
        }
        let middle = sizes.count / 2
        // The five that were put between them.
        let others = found[middle..<(middle + 5)]
        #expect(others.allSatisfy { $0 == nil }, "\(others)")
        #expect(Array(found[..<middle] + found[(middle + 5)...]) == contents)
    }

    /// A file system that has no such reads refuses them also of empty files.
    @Test func `files whose reads the kernel refuses are left to others`() throws {
        let root = try TemporaryFolder.make("/var/tmp/uncached")
        defer { try? FileSystem.removeTree(root) }
        let folder = try DirectoryHandle(path: root)
        try folder.createFile("empty", upTo: 0o600).synchronize()
        try folder.createFile("other", upTo: 0o600).writeAll([1])
        let found = UncachedReads(ReadQueue(queue: 0)).read([
            UncachedReads.Request("empty", in: folder, size: 0), UncachedReads.Request("other", in: folder, size: 1),
        ])
        #expect(found.map { $0 == nil } == [true, true])
    }

    @Test func `a queue takes more reads than run at once, and gives their results in any order`() throws {
        let root = try TemporaryFolder.make("/var/tmp/uncached")
        defer { try? FileSystem.removeTree(root) }
        let folder = try DirectoryHandle(path: root)
        var queue = ReadQueue()
        guard queue != nil else { return }
        let count = 3 * ReadQueue.limit
        let pool = BlockPool(blockSizeBytes: UncachedFile.alignmentBytes, limit: 2 * count)
        var reads: [(read: ReadQueue.Read, block: BlockPool.Block)] = []
        for number in 0..<count {
            let file = try folder.createFile(FileName("\(number)"), upTo: 0o600)
            try file.writeAll([UInt8](repeating: UInt8(number), count: number + 1))
            try file.synchronize()
            let opened = try folder.openFile(FileName("\(number)"))
            // Ordinary reads where the file system has no others.
            _ = opened.setDirect(true)
            let block = pool.take()
            let read = ReadQueue.Read(opened, into: block.writableBytes, owner: block)
            queue?.begin([read])
            reads.append((read, block))
        }
        for (number, (read, block)) in reads.enumerated().reversed() {
            #expect(queue?.wait(for: read) == number + 1)
            #expect(block.writableBytes[..<(number + 1)].allSatisfy { $0 == UInt8(number) })
        }
        // Never waited for: the blocks stay where the kernel writes until the queue has ended.
        for number in 0..<count {
            let file = try folder.openFile(FileName("\(number)"))
            _ = file.setDirect(true)
            let block = pool.take()
            queue?.begin([ReadQueue.Read(file, into: block.writableBytes, owner: block)])
        }
        #expect((0..<count).map { _ in pool.takeFree() }.contains { $0 == nil })
        queue = nil
        #expect((0..<count).map { _ in pool.takeFree() }.allSatisfy { $0 != nil })
        withExtendedLifetime(reads) {}
    }
}
