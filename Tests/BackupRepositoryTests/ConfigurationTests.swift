import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// F8: one damaged bit of `config` costs nothing, and what decides how files are cut cannot be changed unnoticed.
@Suite struct ConfigurationTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }
    private static let photo = TestData.random(30_000, seed: 1)
    private static let secret = EncryptionTests.secret("correct horse")

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func create(isEncrypted: Bool = false) throws -> Repository {
        let repository = try Repository.create(
            at: path, password: isEncrypted ? Self.secret : nil, catalogHome: .folder(folder("store")),
            cost: EncryptionTests.cheap)
        try repository.makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
        return repository
    }

    private func open() throws(BackupError) -> Repository {
        try Repository.open(
            at: path, secret: { (_) throws(BackupError) in .password(Self.secret) }, catalogHome: .folder(folder("store")))
    }

    private func check(_ repository: Repository) throws -> [CheckFinding] {
        var findings: [CheckFinding] = []
        var check = RepositoryCheck(repository, readData: nil) { if case .finding(let finding) = $0 { findings.append(finding) } }
        _ = try check.run()
        return findings
    }

    @Test("F8: with any one bit of config flipped everything opens, check notices it, and a repair puts it right")
    func everyFlippedBitIsHarmless() throws {
        let configuration = try create().configuration
        let right = try readFile(path + "/config")
        for offset in right.indices {
            for bit in [0, 2, 5] {
                var damaged = right
                damaged[offset] ^= 1 << UInt8(bit)
                try writeFile(path + "/config", damaged)
                let reading = try ConfigurationFiles(layout: RepositoryLayout(path: path)).read()
                #expect(
                    reading.configuration == configuration && reading.damage?.path == path + "/config",
                    "byte \(offset), bit \(bit)")
            }
        }
        let opened = try open()
        #expect(try opened.file("photo", in: "a") == Self.photo)
        #expect(try check(opened).map(\.kind) == [.config])
        var repaired: [CheckFinding] = []
        try RepositoryRepair(opened) { if case .finding(let finding) = $0 { repaired.append(finding) } }.run()
        #expect(repaired.map(\.kind) == [.config] && repaired[0].isRepaired)
        #expect(try readFile(path + "/config") == right)
        #expect(try check(open()).isEmpty && open().damages().isEmpty)
        #expect(try FileSystem.exists(path + "/damaged/config"))
    }

    @Test("F8: a config that is gone or cut off is read from its copy")
    func aLostConfigIsReadFromItsCopy() throws {
        _ = try create()
        let right = try readFile(path + "/config")
        for count in [0, 1, 60, right.count - 1] {
            try writeFile(path + "/config", Array(right[..<count]))
            #expect(try open().file("photo", in: "a") == Self.photo)
        }
        try FileManager.default.removeItem(atPath: path + "/config")
        #expect(try Repository.exists(at: path))
        let opened = try open()
        #expect(try check(opened).map(\.kind) == [.config])
        try RepositoryRepair(opened) { _ in }.run()
        #expect(try readFile(path + "/config") == right)
        try FileManager.default.removeItem(atPath: path + "/config")
        try FileManager.default.removeItem(atPath: path + "/config.copy")
        #expect(errorCode { _ = try open() } == .noRepository)
    }

    @Test("F8: with any one bit of config.copy flipped config counts, and a repair writes the copy again")
    func everyFlippedBitOfTheCopyIsHarmless() throws {
        _ = try create()
        let right = try readFile(path + "/config.copy")
        for offset in right.indices {
            var damaged = right
            damaged[offset] ^= 4
            try writeFile(path + "/config.copy", damaged)
            #expect(try ConfigurationFiles(layout: RepositoryLayout(path: path)).read().damage?.path == path + "/config.copy")
        }
        try RepositoryRepair(try open()) { _ in }.run()
        #expect(try readFile(path + "/config.copy") == right)
    }

    @Test("The copy is the config with a checksum that sha256sum computes, and older programs never see it")
    func theCopyIsPlain() throws {
        _ = try create()
        let text = String(decoding: try readFile(path + "/config.copy"), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0] == "backupfs-config-copy" && lines[2] == "format: 1" && lines[3] == "proof: none" && lines[4] == "")
        let sum = try run(["sh", "-c", "tail -n +3 '\(path)/config.copy' | sha256sum"]).output.prefix(64)
        #expect(lines[1] == "sha256: \(sum)")
        #expect(try run(["sh", "-c", "tail -n +6 '\(path)/config.copy' | cmp - '\(path)/config'"]).status == 0)
    }

    @Test("A repository of an older program gets its copy with the next backup, and is read without")
    func anOlderRepositoryGetsItsCopy() throws {
        _ = try create()
        try FileManager.default.removeItem(atPath: path + "/config.copy")
        let opened = try open()
        #expect(try check(opened).isEmpty)
        #expect(try !FileSystem.exists(path + "/config.copy"))
        try opened.makeWriter().commit(named: "b", files: [("photo", Self.photo, .media)])
        #expect(try FileSystem.exists(path + "/config.copy"))
        #expect(try check(open()).isEmpty)
    }

    @Test("A config and a copy that a later version has written are left alone")
    func laterVersionsAreLeftAlone() throws {
        _ = try create()
        let right = try readFile(path + "/config")
        let later = String(decoding: right, as: UTF8.self).replacingOccurrences(of: "format: 1", with: "format: 42")
        try writeFile(path + "/config", Array(later.utf8))
        #expect(errorCode { _ = try open() } == .unsupportedVersion)
        try writeFile(path + "/config", right)
        let rest = "format: 9\nsomething: else\n"
        let copy = "backupfs-config-copy\nsha256: \(SHA256Hasher.hash(Array(rest.utf8)).hexadecimal)\n\(rest)"
        try writeFile(path + "/config.copy", Array(copy.utf8))
        let opened = try open()
        try opened.makeWriter().commit(named: "b", files: [("photo", Self.photo, .media)])
        try RepositoryRepair(opened) { _ in }.run()
        #expect(try readFile(path + "/config.copy") == Array(copy.utf8))
    }

    @Test("R-A13: the chunk sizes of an encrypted repository cannot be changed unnoticed")
    func chunkSizesAreAuthenticated() throws {
        _ = try create(isEncrypted: true)
        #expect(try open().damages().isEmpty)
        let right = try readFile(path + "/config")
        let forged = Array(
            String(decoding: right, as: UTF8.self).replacingOccurrences(
                of: "media: 262144 1048576 4194304", with: "media: 64 256 512"
            )
            .utf8)
        #expect(forged != right)
        // The config alone: the copy counts.
        try writeFile(path + "/config", forged)
        #expect(try open().configuration.chunker.media.averageBytes == 1 << 20)
        // Both, with a checksum that is right: without the key there is no proof.
        var copy = ConfigurationCopy(of: forged, keys: nil).encode()
        let proof = try ConfigurationCopy(decoding: readFile(path + "/config.copy")).proof
        try writeFile(path + "/config.copy", copy)
        try writeFile(path + "/config", right)
        // Without any proof in it the copy says no more than config does.
        #expect(try open().configurationReading.damage != nil)
        let rest = "format: 1\nproof: \(try #require(proof).hexadecimal)\n\n" + String(decoding: forged, as: UTF8.self)
        copy = Array("backupfs-config-copy\nsha256: \(SHA256Hasher.hash(Array(rest.utf8)).hexadecimal)\n\(rest)".utf8)
        try writeFile(path + "/config.copy", copy)
        #expect(try open().configuration.chunker.media.averageBytes == 1 << 20)
        try writeFile(path + "/config", forged)
        #expect(errorCode { _ = try open() } == .repositoryDamaged)
    }
}
