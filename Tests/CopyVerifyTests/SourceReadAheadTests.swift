import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import CopyVerify

/// Small files of a source that are read before their turn.
struct SourceReadAheadTests {
    private static let count = 40

    /// On a disk, and not in the page cache.
    private static func make(in root: String) throws -> DirectoryHandle {
        let folder = try DirectoryHandle(path: root)
        for number in 0..<count {
            let file = try folder.createFile(name(number), upTo: 0o600)
            try file.writeAll(content(number))
            try file.synchronize()
            posix_fadvise(file.rawValue, 0, 0, POSIX_FADV_DONTNEED)
        }
        return folder
    }

    private static func name(_ number: Int) -> FileName { FileName("\(10 + number)") }

    private static func content(_ number: Int) -> [UInt8] {
        (0..<(number * 1_500 + 1)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
    }

    @Test(arguments: [false, true])
    func `their content is what an ordinary read gives, in the cache or not`(isCached: Bool) throws {
        let root = try TemporaryFolder.make("/var/tmp/ahead")
        defer { try? FileSystem.removeTree(root) }
        let handle = try Self.make(in: root)
        if isCached {
            for number in 0..<Self.count {
                let count = Self.content(number).count
                _ = try handle.openFile(Self.name(number)).readExactly(at: 0, count: count)
            }
        }
        let folder = SourceFolder(components: [], status: try handle.descriptor.status())
        let ahead = SourceReadAhead(BlockPool(blockSizeBytes: 64 << 10, limit: 256), limitBytes: 64 << 10, SourceLoad())
        var (opened, early) = (0, 0)
        for number in 0..<Self.count {
            while opened < min(Self.count, number + SourceReadAhead.fileCount + 1) {
                _ = ahead.open(Self.name(opened), in: folder, handle)
                opened += 1
            }
            // The limit lets one be opened in its turn.
            let taken = ahead.take(Self.name(number), in: folder)
            let file = try taken ?? AnnouncedFile(opening: Self.name(number), in: folder, handle)
            #expect(file.status.size == UInt64(Self.content(number).count))
            if let block = ahead.takeContent(of: file) {
                early += 1
                #expect(Array(block.bytes) == Self.content(number))
            } else {
                #expect(try file.descriptor.readExactly(at: 0, count: Self.content(number).count) == Self.content(number))
            }
        }
        // Of each sixteen, all but the first one where it is not in the cache, else that one alone.
        let hasDirectReads = try UncachedFile(Self.name(0), in: handle).method == .direct && ReadQueue() != nil
        if hasDirectReads { #expect(isCached ? early < 8 : early > 20, "\(early)") }
        ahead.end()
    }

    @Test func `one that changes its size meanwhile is read in its turn`() throws {
        let root = try TemporaryFolder.make("/var/tmp/ahead")
        defer { try? FileSystem.removeTree(root) }
        let handle = try Self.make(in: root)
        let folder = SourceFolder(components: [], status: try handle.descriptor.status())
        let ahead = SourceReadAhead(BlockPool(blockSizeBytes: 64 << 10, limit: 256), limitBytes: 64 << 10, SourceLoad())
        for number in 0..<10 { #expect(ahead.open(Self.name(number), in: folder, handle) != nil) }
        // Nothing is read before there are sixteen.
        let other = try OwnedDescriptor.open("\(root)/15", O_WRONLY | O_TRUNC)
        try other.writeAll([1, 2, 3])
        try other.synchronize()
        for number in 10..<16 { #expect(ahead.open(Self.name(number), in: folder, handle) != nil) }
        let file = try #require(ahead.take(Self.name(5), in: folder))
        #expect(ahead.takeContent(of: file) == nil)
        #expect(try file.descriptor.readExactly(at: 0, count: 3) == [1, 2, 3])
        let next = try #require(ahead.take(Self.name(6), in: folder))
        let content = ahead.takeContent(of: next).map { Array($0.bytes) }
        #expect(try content ?? next.descriptor.readExactly(at: 0, count: 9_001) == Self.content(6))
        ahead.end()
    }
}
