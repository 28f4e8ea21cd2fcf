import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// The file on which everything hangs in an encrypted repository, and changes of the password.
@Suite struct KeyFileTests {
    private let tests: EncryptionTests
    private var path: String { tests.path }
    private static let photo = TestData.random(3_000, seed: 21)

    init() throws { tests = try EncryptionTests() }

    private func create() throws -> Repository {
        let repository = try tests.create("old")
        _ = try repository.makeWriter().commit(named: "a", files: [("f", Self.photo, .media)])
        return repository
    }

    private func opens(_ password: String) throws -> Bool {
        do throws(BackupError) {
            let repository = try tests.open(password)
            let bytes = try? repository.file("f", in: "a")
            #expect(bytes == Self.photo)
            return true
        } catch {
            #expect(error.code == .wrongPassword, "\(error)")
            return false
        }
    }

    private func packs() throws -> String {
        let script = "cd \(path) && find packs snapshots config -type f -exec sha256sum {} + | sort"
        return try run(["bash", "-c", script]).output
    }

    @Test func `a new password takes the old one's place and touches nothing else`() throws {
        let repository = try create()
        let before = try packs()
        let oldKey = try readFile("\(path)/key")
        try repository.changePassword(to: EncryptionTests.secret("new"), cost: EncryptionTests.cheap)
        #expect(try opens("new"))
        #expect(try !opens("old"))
        #expect(try packs() == before && before.contains(".pack"))
        #expect(try readFile("\(path)/key") == readFile("\(path)/key.copy"))
        // The repository that is open goes on.
        _ = try repository.makeWriter().commit(named: "b", files: [("g", [1, 2, 3], .media)])
        #expect(try tests.open("new").snapshots().count == 2)
        // An old copy of the key file still opens with its own password, as the documents say.
        try writeFile("\(path)/key", oldKey)
        #expect(try opens("old"))
    }

    @Test func `a plain repository has no password`() throws {
        let plain = try Repository.create(at: tests.folder("plain"))
        #expect(errorCode { try plain.changePassword(to: EncryptionTests.secret("x")) } == .notSupported)
        #expect(!plain.isEncrypted && plain.masterKey == nil)
        #expect(!FileManager.default.fileExists(atPath: tests.folder("plain/key")))
    }

    private func findings(_ repository: Repository) throws -> [String] {
        var paths: [String] = []
        var check = RepositoryCheck(repository, readData: nil) { event in
            if case .finding(let finding) = event { paths.append(finding.error.path ?? "") }
        }
        _ = try check.run()
        return paths
    }

    /// An older copy of the repository brings an older key file back: which of the two is the newer one cannot be known.
    @Test(arguments: ["key", "key.copy"])
    func `of two key files that differ each is opened by its password, and none replaces the other`(older: String) throws {
        let repository = try create()
        let old = try readFile("\(path)/key")
        try repository.changePassword(to: EncryptionTests.secret("new"), cost: EncryptionTests.cheap)
        let new = try readFile("\(path)/key")
        try writeFile("\(path)/\(older)", old)
        let expected = older == "key" ? [old, new] : [new, old]
        func files() throws -> [[UInt8]] { try [readFile("\(path)/key"), readFile("\(path)/key.copy")] }
        for password in ["new", "old", "new"] {
            #expect(try opens(password))
            #expect(try files() == expected)
        }
        #expect(try !opens("other"))
        let opened = try tests.open("new")
        #expect(try findings(opened) == ["\(path)/key.copy"])
        #expect(opened.keyStore.damage()?.remedy?.english.contains("backupfs passwd") == true)
        try RepositoryRepair(opened) { _ in }.run()
        #expect(try files() == expected)
        // A change that fails leaves both as they were.
        let error = failure {
            try FileObservation.observing(below: path, by: FailingRename(ending: "/key")) {
                try opened.changePassword(to: EncryptionTests.secret("third"), cost: EncryptionTests.cheap)
            }
        }
        #expect(error?.message.english.hasPrefix("the password has not been changed: ") == true)
        #expect(try files() == expected)
        try opened.changePassword(to: EncryptionTests.secret("third"), cost: EncryptionTests.cheap)
        #expect(try findings(opened) == [])
        #expect(try ["old", "new", "third"].filter { try opens($0) } == ["third"])
    }

    @Test func `a key file that is damaged or missing is a finding, and the next opening or a repair mends it`() throws {
        let opened = try create()
        let new = try readFile("\(path)/key")
        func findings() throws -> [String] { try self.findings(opened) }
        for name in ["key.copy", "key"] {
            try Damage.flip("\(path)/\(name)", at: 100)
            #expect(try opens("old"))
            #expect(try readFile("\(path)/\(name)") == new)
        }
        for name in ["key.copy", "key"] {
            try Damage.flip("\(path)/\(name)", at: 100)
            #expect(try findings() == ["\(path)/\(name)"])
            try RepositoryRepair(opened) { _ in }.run()
            #expect(try readFile("\(path)/\(name)") == new)
            #expect(try findings() == [])
        }
        try FileManager.default.removeItem(atPath: "\(path)/key.copy")
        #expect(try findings() == ["\(path)/key.copy"])
    }

    /// The disk has no space for the n-th change to a file, and perhaps for no other: an error means that the old password is
    /// valid.
    @Test(arguments: FullDisk.Duration.allCases)
    func `a change that fails leaves the old password, or says that it is not certain`(duration: FullDisk.Duration) throws {
        _ = try create()
        var uncertainCount = 0
        for number in 1...100 {
            let disk = FullDisk(failing: number, duration: duration)
            let opened = try tests.open("old")
            let error = failure {
                try FileObservation.observing(below: path, by: disk) {
                    try opened.changePassword(to: EncryptionTests.secret("new"), cost: EncryptionTests.cheap)
                }
            }
            if !disk.wasReached {
                #expect(error == nil && uncertainCount == (duration == .once ? 0 : 1))
                #expect(try opens("new"))
                return
            }
            let valid = try ["old", "new"].filter { try opens($0) }
            let place: Comment =
                "\(number) \(disk.failed.map { "\($0)".prefix(200) } ?? ""): \(error.map { "\($0)" } ?? "no error")"
            if let error, error.message.english.contains("it is not certain whether the password was changed") {
                uncertainCount += 1
                #expect(!valid.isEmpty, place)
            } else if error == nil {
                #expect(valid == ["new"], place)
            } else {
                // Where not even the copy can be put back, the new one opens it, too.
                #expect(valid == ["old"] || duration != .once && valid == ["old", "new"], place)
            }
            #expect(try (readFile("\(path)/key") == readFile("\(path)/key.copy")) == (valid.count == 1), place)
            if let password = valid.last, password == "new" {
                try tests.open(password).changePassword(to: EncryptionTests.secret("old"), cost: EncryptionTests.cheap)
            }
        }
        Issue.record("there is no end of changes")
    }

    @Test func `a key file that is damaged at the change comes from its copy first`() throws {
        _ = try create()
        let opened = try tests.open("old")
        let old = try readFile("\(path)/key")
        try Damage.flip("\(path)/key", at: 100)
        // The copy could not be replaced.
        let error = failure {
            try FileObservation.observing(below: path, by: FailingRename(ending: "/key.copy")) {
                try opened.changePassword(to: EncryptionTests.secret("new"), cost: EncryptionTests.cheap)
            }
        }
        #expect(error?.message.english.hasPrefix("the password has not been changed: ") == true)
        #expect(try readFile("\(path)/key") == old)
        #expect(try opens("old"))
    }

    private struct FailingRename: FileObserver {
        let ending: String

        func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
            if case .rename(_, let new) = operation, new.hasSuffix(ending) { throw BackupError(.noSpace, "full") }
            try body()
        }
    }

    @Test func `a damaged or missing key file is made again from its copy`() throws {
        _ = try create()
        let whole = try readFile("\(path)/key")
        for position in [0, 20, 100, whole.count / 2, whole.count - 1] {
            var damaged = whole
            damaged[position] ^= 1
            try writeFile("\(path)/key", damaged)
            #expect(try opens("old"), "byte \(position)")
            #expect(try readFile("\(path)/key") == whole)
            // And the other way round.
            try writeFile("\(path)/key.copy", damaged)
            #expect(try opens("old"), "byte \(position)")
            #expect(try readFile("\(path)/key.copy") == whole)
        }
        for name in ["key", "key.copy"] {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
            #expect(try opens("old"))
            #expect(try readFile("\(path)/\(name)") == whole)
        }
    }

    @Test func `damage is not taken for a wrong password`() throws {
        _ = try create()
        var bytes = try readFile("\(path)/key")
        bytes[200] ^= 1
        for name in ["key", "key.copy"] { try writeFile("\(path)/\(name)", bytes) }
        #expect(errorCode { _ = try tests.open("old") } == .repositoryDamaged)
        for name in ["key", "key.copy"] { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        #expect(errorCode { _ = try tests.open("old") } == .repositoryDamaged)
    }

    /// A key file of the given lines, with the right checksum.
    private func write(_ change: (String) -> String) throws {
        let whole = String(decoding: try readFile("\(path)/key"), as: UTF8.self)
        let checked = change(String(whole[..<(try #require(whole.range(of: "sha256: "))).lowerBound]))
        let file = checked + "sha256: \(SHA256Hasher.hash(Array(checked.utf8)).hexadecimal)\n"
        for name in ["key", "key.copy"] { try writeFile("\(path)/\(name)", Array(file.utf8)) }
    }

    @Test(arguments: [
        ("format: 1", "format: 2", BackupError.Code.unsupportedVersion),
        // 2^40 times 128 bytes: refused before anything is computed.
        ("scrypt: 10 1 1", "scrypt: 40 1 1", .unsupportedVersion),
        ("scrypt: 10 1 1", "scrypt: 10 1 1000000", .unsupportedVersion),
        ("scrypt: 10 1 1", "scrypt: 10 1", .repositoryDamaged),
        ("scrypt: 10 1 1", "scrypt: 10 1 -1", .unsupportedVersion),
        // Bound to the wrapped key: the password is then no longer right.
        ("scrypt: 10 1 1", "scrypt: 11 1 1", .wrongPassword),
        ("salt: ", "salt:", .repositoryDamaged),
        ("salt: ", "salt: 00", .repositoryDamaged),
        ("wrapped: ", "wrapped: 00", .repositoryDamaged),
        ("backupfs-key", "backupfs-kez", .repositoryDamaged),
    ])
    func `foreign key files`(part: String, replacement: String, code: BackupError.Code) throws {
        _ = try create()
        try write { text in
            #expect(text.contains(part))
            return text.replacingOccurrences(of: part, with: replacement)
        }
        #expect(errorCode { _ = try tests.open("old") } == code)
    }

    @Test func `the key of another repository`() throws {
        _ = try create()
        _ = try Repository.create(at: tests.folder("other"), password: EncryptionTests.secret("old"), cost: EncryptionTests.cheap)
        for name in ["key", "key.copy"] { try writeFile("\(path)/\(name)", try readFile(tests.folder("other/\(name)"))) }
        #expect(errorCode { _ = try tests.open("old") } == .repositoryDamaged)
    }

    @Test func `the config of an encrypted repository`() throws {
        let configuration = RepositoryConfiguration(
            repositoryID: "5525acd83f98248c528d745781eb829f", chunker: .standardEncrypted)
        let text = """
            backupfs-repository
            format: 1
            id: 5525acd83f98248c528d745781eb829f
            chunker: fastcdc-gear64
            encryption: aes-256-gcm
            media: 262144 1048576 4194304
            structured-text: 2048 8192 32768
            metadata: 4096 16384 65536
            database-piece: 16384

            """
        #expect(String(decoding: configuration.encode(), as: UTF8.self) == text)
        #expect(try RepositoryConfiguration(decoding: Array(text.utf8)) == configuration)
        func code(_ replacement: String) -> BackupError.Code? {
            errorCode {
                _ = try RepositoryConfiguration(
                    decoding: Array(text.replacingOccurrences(of: "encryption: aes-256-gcm", with: replacement).utf8))
            }
        }
        #expect(code("encryption: rot13") == .unsupportedVersion)
        #expect(code("encryption: aes-256-gcm\ngear-seed: 6261636b75706673") == .unsupportedVersion)
    }

    @Test func `an interrupted creation is begun again`() throws {
        _ = try create()
        // All but the last step.
        try FileManager.default.removeItem(atPath: "\(path)/config")
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where !name.hasPrefix("key") {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        _ = try tests.create("another")
        #expect(errorCode { _ = try tests.open("old") } == .wrongPassword)
        #expect(throws: Never.self) { try tests.open("another") }
    }
}
