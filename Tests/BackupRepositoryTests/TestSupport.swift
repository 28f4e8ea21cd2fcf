import BackupCore
import Foundation
import SystemIO
import Testing

@testable import BackupRepository

/// A folder that is removed with the test.
final class TemporaryFolder {
    let path: String

    /// - Parameter inMemory: for many small files, where there is a file system in memory.
    init(inMemory: Bool = false) throws {
        let isInMemory = inMemory && FileManager.default.isWritableFile(atPath: "/dev/shm")
        path = (isInMemory ? "/dev/shm/" : NSTemporaryDirectory()) + "backupfs-repository-test-" + RandomToken.make()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }
}

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

/// Runs a program to its end.
@discardableResult
func run(_ arguments: [String], in folder: String? = nil) throws -> (status: Int32, output: [UInt8]) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
    let pipe = Foundation.Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, Array(data))
}

enum Fixtures {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/Fixtures"
    /// A reader that follows the format document and shares no code with the program.
    static let reader = folder + "/read_repository.py"
}

func readFile(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
func writeFile(_ path: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

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

/// The code of the `BackupError` that `body` throws; `nil` when it throws none.
func errorCode(_ body: () throws -> Void) -> BackupError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? BackupError)?.code
    }
}
