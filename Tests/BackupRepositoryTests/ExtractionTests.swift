import BackupCore
import Foundation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Stored folders written as files, in plain and in encrypted repositories.
@Suite struct ExtractionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func repository(isEncrypted: Bool) throws -> Repository {
        let password = isEncrypted ? Array("correct horse".utf8).withUnsafeBytes { SecretBytes(copying: $0) } : nil
        return try Repository.create(
            at: folder("repository"), password: password, cost: Scrypt(costExponent: 10, blockSize: 8, parallelization: 1))
    }

    /// A long file that does not compress, one of many small chunks, and many small files.
    private static let files: [(FileName, [UInt8], ChunkingPolicy)] = [
        ("photo", TestData.random(23_000_000, seed: 1), .media), ("rows", TestData.rows(150_000, seed: 2), .structuredText),
        ("pages", TestData.rows(60_000, seed: 3), .database(pageSizeBytes: 4096)), ("empty", [], .media),
        ("twice", TestData.random(100_000, seed: 4) + TestData.random(100_000, seed: 4), .database(pageSizeBytes: 4096)),
    ]

    @Test(arguments: [false, true])
    func everythingComesBack(isEncrypted: Bool) throws {
        let repository = try repository(isEncrypted: isEncrypted)
        let writer = try repository.makeWriter()
        var small: [TreeEntry] = []
        for index in 0..<600 {
            let bytes = Array(String(repeating: "number \(index), ", count: 1 + index % 40).utf8)
            small.append(
                .file(
                    name: FileName("f\(index)"), mode: 0o640, modificationTime: Timestamp(seconds: 5),
                    stored: try writer.store(bytes, policy: .media)))
        }
        var entries: [TreeEntry] = [
            .directory(name: "small", mode: 0o750, modificationTime: Timestamp(seconds: 9), stored: try writer.store(small))
        ]
        for (name, bytes, policy) in Self.files {
            entries.append(
                .file(
                    name: name, mode: 0o600, modificationTime: Timestamp(seconds: 7, nanoseconds: 5),
                    stored: try writer.store(bytes, policy: policy)))
        }
        let snapshot = try writer.commit(named: "one", entries: entries)
        let target = folder("out")
        try FileSystem.makeDirectories(target)
        let seen = Mutex<UInt64>(0)
        let report = try repository.extract(try repository.rootDirectory(of: snapshot), into: target, phase: "x") { progress in
            seen.withLock { $0 = max($0, progress.processedItems) }
        }
        #expect(report.failureCount == 0 && report.fileCount == 605 && seen.withLock { $0 } == 605)
        for (name, bytes, _) in Self.files { #expect(try readFile("\(target)/\(name)") == bytes, "\(name)") }
        for index in [0, 1, 255, 256, 599] {
            let expected = String(repeating: "number \(index), ", count: 1 + index % 40)
            #expect(try readFile("\(target)/small/f\(index)") == Array(expected.utf8))
        }
        #expect(try run(["ls", "\(target)/small"]).output.split(separator: "\n").count == 600)
        let status = try run(["stat", "-c", "%a %Y", "\(target)/small", "\(target)/small/f7", "\(target)/photo"])
        #expect(status.output == "750 9\n640 5\n600 7\n")
    }

    /// A chunk is found in another pack when the first one is damaged: nothing of it is left out.
    @Test(arguments: [false, true])
    func damagedChunksAreToldForTheirFile(isEncrypted: Bool) throws {
        let repository = try repository(isEncrypted: isEncrypted)
        let snapshot = try repository.makeWriter().commit(
            named: "one",
            files: [
                ("a", TestData.random(300_000, seed: 1), .media), ("b", TestData.random(90_000, seed: 2), .media),
                ("c", [1, 2], .media),
            ])
        let root = try repository.rootDirectory(of: snapshot)
        guard case .chunk(let id, _) = root.entry(named: "b")?.content.elements.first,
            let place = try repository.catalog.locate([id]).first
        else {
            Issue.record("b is one chunk")
            return
        }
        let path = repository.layout.packPath(of: place.pack)
        var pack = try readFile(path)
        pack[Int(place.packOffset) + 50_000] ^= 1
        try writeFile(path, pack)
        try FileSystem.makeDirectories(folder("out"))
        let report = try repository.extract(root, into: folder("out"), phase: "x")
        #expect(report.failures.map(\.path) == ["b"] && report.fileCount == 2)
        #expect(report.failures.first?.error.message.contains(id.hexadecimal) == true)
        #expect(try readFile(folder("out/a")) == TestData.random(300_000, seed: 1) && readFile(folder("out/c")) == [1, 2])
        #expect(!FileManager.default.fileExists(atPath: folder("out/b")))
    }

    @Test func whatIsThereIsNotReplaced() throws {
        let repository = try repository(isEncrypted: false)
        let snapshot = try repository.makeWriter().commit(named: "one", files: [("a", [1], .media)])
        try FileSystem.makeDirectories(folder("out"))
        try writeFile(folder("out/a"), [9])
        let root = try repository.rootDirectory(of: snapshot)
        #expect(errorCode { _ = try repository.extract(root, into: folder("out"), phase: "x") } == .alreadyExists)
        #expect(try readFile(folder("out/a")) == [9])
    }
}
