import BackupCore
import Foundation
import SystemIO
import Testing

@testable import BackupRepository

/// Reproducible data: xorshift64*.
struct TestData {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    /// Bytes that do not compress.
    static func random(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = TestData(seed: seed)
        return [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, initializedCount in
            let words = UnsafeMutableRawBufferPointer(buffer)
            for offset in stride(from: 0, to: count, by: 8) {
                words.storeBytes(of: generator.next().littleEndian, toByteOffset: offset, as: UInt64.self)
            }
            initializedCount = count
        }
    }

    /// Rows of JSON, about 60 bytes each.
    static func rows(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = TestData(seed: seed)
        var text = "[\n"
        for index in 0..<count {
            text +=
                "  {\"id\": \(index), \"odometer\": \(generator.next() % 200_000), \"notes\": \"trip \(generator.next() % 97)\"},\n"
        }
        return Array((text + "]\n").utf8)
    }
}

enum Fixtures {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/Fixtures"
    /// A reader that follows the format document and shares no code with the program.
    static let reader = folder + "/read_repository.py"
}

extension BackupWriter {
    /// Stores files and makes a snapshot of them, all in one folder.
    @discardableResult
    func commit(
        named name: FileName, files: [(FileName, [UInt8], ChunkingPolicy)], kind: SnapshotKind = .snapshot, seconds: Int64 = 1000
    ) throws -> Snapshot {
        var entries: [TreeEntry] = []
        for (name, bytes, policy) in files {
            let stored = try store(bytes, policy: policy)
            entries.append(.file(name: name, mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored))
        }
        return try commit(named: name, entries: entries, kind: kind, seconds: seconds)
    }

    @discardableResult
    func commit(
        named name: FileName, entries: [TreeEntry], kind: SnapshotKind = .snapshot, seconds: Int64 = 1000
    ) throws -> Snapshot {
        let root = try store(entries)
        return try commit(
            SnapshotRecord(
                kind: kind, name: name, creationTime: Timestamp(seconds: seconds), parent: nil, root: root, archiveSizeBytes: 0,
                archiveLayout: [:], attributes: [:]))
    }
}

extension Repository {
    func file(_ name: FileName, in snapshot: FileName) throws -> [UInt8] {
        let found = try #require(self.snapshot(named: snapshot))
        let entry = try #require(try rootDirectory(of: found).entry(named: name))
        return try bytes(of: entry.content, limitBytes: 1 << 30)
    }

    func verifyChunk(_ id: ChunkID) throws(BackupError) {
        for chunk in try catalog.locate([id]) { try ChunkVerifier(self).requireSound(chunk) }
    }

    /// - Returns: what a check of all data finds in a pack, one finding for each chunk that is hurt.
    func verifyPack(_ id: PackID) -> [BackupError] {
        let outcome = PackDataCheck.check(id, self, PackDataReader(self), ChunkVerifier(self))
        if let failure = outcome.failure { return [failure] }
        return (outcome.damaged + outcome.withoutBase).map(\.error)
    }
}
