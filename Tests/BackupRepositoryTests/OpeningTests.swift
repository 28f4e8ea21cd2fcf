import BackupCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BackupRepository

@Suite struct OpeningTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: true)
    }

    @Test func foldersThatHoldSomethingElseAreRefused() throws {
        try makeFolder("foreign")
        try writeFile(folder("foreign/photo.jpg"), [1])
        #expect(errorCode { _ = try Repository.create(at: folder("foreign")) } == .notEmpty)
        try makeFolder("lost/packs/ab")
        #expect(errorCode { _ = try Repository.create(at: folder("lost")) } == .notEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("foreign")) == ["photo.jpg"])
        #expect(errorCode { _ = try Repository.open(at: folder("foreign")) } == .noRepository)
        #expect(errorCode { _ = try Repository.open(at: folder("nowhere")) } == .noRepository)
        #expect(try !Repository.exists(at: folder("nowhere")))
    }

    @Test func anInterruptedCreationCanBeRepeated() throws {
        try makeFolder("half/tmp")
        try makeFolder("half/packs")
        try writeFile(folder("half/tmp/0123"), [1])
        try writeFile(folder("half/lock"), [])
        let repository = try Repository.create(at: folder("half"))
        #expect(try Repository.exists(at: folder("half")))
        #expect(errorCode { _ = try Repository.create(at: folder("half")) } == .alreadyExists)
        #expect(try Repository.open(at: folder("half")).id == repository.id)
    }

    @Test func theFoldersAboveAreMade() throws {
        _ = try Repository.create(at: folder("a/b/c"))
        #expect(try Repository.exists(at: folder("a/b/c")))
    }

    /// Owner-only whatever the umask says: in a child, since the umask is the process's.
    @Test(arguments: [0o000, 0o777]) func modesDoNotDependOnTheUmask(mask: Int) async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String, mask] in
            umask(mode_t(mask))
            let repository = try Repository.create(at: path + "/repository")
            let files: [(FileName, [UInt8], ChunkingPolicy)] = [("x", TestData.random(500, seed: 1), .media)]
            let snapshot = try repository.makeWriter().commit(named: "a", files: files)
            try repository.setPinned(snapshot.id, true)
        }
        let listing = try run(["sh", "-c", "find repository -printf '%y%m\\n' | sort -u"], in: folder.path)
        #expect(listing.output == "d700\nf600\n")
    }

    @Test func configsOfOtherVersionsAreRefused() throws {
        _ = try Repository.create(at: folder("r"))
        let text = String(decoding: try readFile(folder("r/config")), as: UTF8.self)
        // As in a repository of an older program.
        try FileManager.default.removeItem(atPath: folder("r/config.copy"))
        func code(_ changed: String) throws -> BackupError.Code? {
            try writeFile(folder("r/config"), Array(changed.utf8))
            return errorCode { _ = try Repository.open(at: folder("r")) }
        }
        #expect(try code(text.replacingOccurrences(of: "format: 1", with: "format: 2")) == .unsupportedVersion)
        #expect(try code(text.replacingOccurrences(of: "fastcdc-gear64", with: "rabin")) == .unsupportedVersion)
        #expect(try code(text + "encryption: aes-256-gcm\n") == .unsupportedVersion)
        #expect(try code(text.replacingOccurrences(of: "media: 262144", with: "media: 0")) == .repositoryDamaged)
        #expect(
            try code(text.replacingOccurrences(of: "media: 262144 1048576", with: "media: 1048576 262144")) == .repositoryDamaged)
        #expect(try code("") == .repositoryDamaged)
        #expect(try code("something else\n") == .repositoryDamaged)
        #expect(try code(String(text.dropLast())) == .repositoryDamaged)
        #expect(try code(text) == nil)
    }

    /// Every cut and every flipped bit of the config is an error or the same config.
    @Test func damagedConfigsNeverCrash() throws {
        let configuration = RepositoryConfiguration(
            repositoryID: "00112233445566778899aabbccddeeff", chunker: .standard)
        let bytes = configuration.encode()
        #expect(try RepositoryConfiguration(decoding: bytes) == configuration)
        for index in bytes.indices {
            #expect(throws: BackupError.self) { try RepositoryConfiguration(decoding: Array(bytes[..<index])) }
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                _ = try? RepositoryConfiguration(decoding: damaged)
            }
        }
    }
}
