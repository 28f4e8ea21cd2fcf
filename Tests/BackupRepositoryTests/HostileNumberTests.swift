import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Numbers that only a hostile repository or an odd request has: none ends the process (R-A16, R-A23, R-A24, T-A22).
@Suite struct HostileNumberTests {
    private static let id = SnapshotID(SHA256Hasher.hash([1]))

    private func record(_ seconds: Int64) -> SnapshotRecord {
        SnapshotRecord(
            kind: .snapshot, name: "a", creationTime: Timestamp(seconds: seconds), parent: nil,
            root: StoredDirectory(content: FileContent(literal: []), totals: DirectoryTotals()), archiveSizeBytes: 0,
            archiveLayout: [:], attributes: [:])
    }

    @Test(arguments: LockNoteTests.extremes) func `a record or label of any time is read or refused`(seconds: Int64) throws {
        let isDate = (-62_167_219_200...253_402_300_799).contains(seconds)
        let expected: BackupError.Code? = isDate ? nil : .repositoryDamaged
        #expect(errorCode { _ = try SnapshotRecord(decoding: record(seconds).encode()) } == expected)
        let label = SnapshotLabel(name: "a", isPinned: true, verifiedAt: Timestamp(seconds: seconds))
        #expect(errorCode { _ = try SnapshotLabel(decoding: label.encode(for: Self.id), for: Self.id) } == expected)
    }

    /// Entries keep every time that a file can have.
    @Test(arguments: LockNoteTests.extremes) func `a file of any time is stored`(seconds: Int64) throws {
        let entry = TreeEntry.symbolicLink(name: "l", target: [65], modificationTime: Timestamp(seconds: seconds))
        var writer = ByteWriter()
        entry.encode(into: &writer)
        var reader = ByteReader(writer.bytes)
        #expect(try TreeEntry(decoding: &reader, version: 1).modificationTime == Timestamp(seconds: seconds))
    }

    @Test func `limits of what may stay unused (R-A23, T-A22)`() throws {
        func bytes(_ text: String, used: UInt64 = 1 << 40) throws -> UInt64 {
            try UnusedLimit(parsing: text).byteCount(used: used)
        }
        #expect(try bytes("10000000") == 10_000_000)
        #expect(try bytes("8388608") == 8_388_608)
        #expect(try bytes("100M") == 104_857_600)
        #expect(try bytes("1T") == 1_099_511_627_776)
        #expect(try bytes("18446744073709551615") == .max)
        #expect(try bytes("16777216T") == .max)
        #expect(try bytes("16777215T") == 18_446_742_974_197_923_840)
        #expect(try bytes("99.99999999999999%", used: .max) == .max)
        #expect(try bytes("50%", used: 0) == 0)
        #expect(try bytes("50%", used: 1_000) == 1_000)
        for text in ["18446744073709551616", "-1", "100%", "-1%", "nan%", "inf%", "1P", "", "%", "M"] {
            #expect(errorCode { _ = try UnusedLimit(parsing: text) } == .usage, "\(text)")
        }
    }

    @Test(arguments: [
        (UInt64(64) << 30, ChunkingPolicy.database(pageSizeBytes: 4096), true), (63 << 30, .database(pageSizeBytes: 4096), false),
        (.max, .media, true), (3 << 40, .media, false), (.max, .structuredText, true),
    ])
    func `a file of too many pieces is refused before it is read (R-A24)`(
        size: UInt64, policy: ChunkingPolicy, isTooLarge: Bool
    ) throws {
        let folder = try TemporaryFolder()
        let writer = try Repository.create(at: folder("repository")).makeWriter()
        #expect(errorCode { try writer.requireStorable(byteCount: size, policy: policy) } == (isTooLarge ? .tooLarge : nil))
    }
}
