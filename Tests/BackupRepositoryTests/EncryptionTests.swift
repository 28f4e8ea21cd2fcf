import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Encrypted repositories: what is written, who can read it, and what is noticed.
@Suite struct EncryptionTests {
    let folder: TemporaryFolder
    var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder() }

    /// Passwords that are tried a thousand times need not be expensive to try.
    static let cheap = Scrypt(costExponent: 10, blockSize: 1, parallelization: 1)

    static func secret(_ text: String) -> SecretBytes { Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) } }

    private static let photo = TestData.random(3_000, seed: 11)
    private static let otherPhoto = TestData.random(3_000, seed: 12)
    private static let large = TestData.random(9 << 20, seed: 13)
    private static let rows = TestData.rows(4_000, seed: 14)
    private static let files: [(FileName, [UInt8], ChunkingPolicy)] = [
        ("IMG_4711.jpg", photo, .media), ("IMG_4712.jpg", otherPhoto, .media), ("video.mov", large, .media),
        ("expenses.json", rows, .structuredText),
    ]

    func create(_ password: String = "correct horse") throws -> Repository {
        try Repository.create(at: path, password: Self.secret(password), cost: Self.cheap)
    }

    func open(_ password: String = "correct horse") throws(BackupError) -> Repository {
        try Repository.open(at: path) { (_) throws(BackupError) in .password(Self.secret(password)) }
    }

    private func createWithFiles() throws -> Snapshot {
        let repository = try create()
        let snapshot = try repository.makeWriter().commit(named: "holiday in Ystad", files: Self.files)
        try repository.renameSnapshot(snapshot.id, to: "the best of 2025")
        return snapshot
    }

    /// Every file of the repository, by its path in it.
    private func everyFile() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for case let name as String in try #require(FileManager.default.enumerator(atPath: path)) {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            files[name] = try readFile("\(path)/\(name)")
        }
        return files
    }

    // MARK: Reading what was written

    @Test func `what was written comes back with the password, and with the key`() throws {
        _ = try createWithFiles()
        let repository = try open()
        #expect(repository.isEncrypted && repository.damages().isEmpty)
        for (name, bytes, _) in Self.files { #expect(try repository.file(name, in: "the best of 2025") == bytes) }
        for pack in try repository.packs() { #expect(repository.verifyPack(pack).isEmpty) }
        let key = try #require(repository.masterKey)
        let again = try Repository.open(at: path) { (_) throws(BackupError) in .masterKey(key) }
        #expect(try again.file("IMG_4711.jpg", in: "the best of 2025") == Self.photo)
    }

    @Test func `an independent reader finds the same`() throws {
        let snapshot = try createWithFiles()
        try writeFile(folder("password"), Array("correct horse\nnot this line\n".utf8))
        let reader = ["env", "BACKUPFS_PASSWORD_FILE=\(folder("password"))", "python3", Fixtures.reader]
        #expect(try run(reader + ["restore", path, "holiday in Ystad", folder("out")]).status == 0)
        for (name, bytes, _) in Self.files { #expect(try readFile(folder("out/\(name)")) == bytes) }
        let label = try run(reader + ["label", path, snapshot.id.hexadecimal]).bytes
        #expect(String(decoding: label, as: UTF8.self) == "0 the best of 2025\n")
        // It cuts where the seed says that comes from the key.
        let keys = try run(reader + ["keys", path]).output
        let seed = try #require(keys.firstMatch(of: /gear-seed ([0-9a-f]{16})/)?.1)
        try writeFile(folder("rows"), Self.rows)
        let cuts = try run(["python3", Fixtures.reader, "cut", folder("rows"), "2048", "8192", "32768", String(seed)]).bytes
        let repository = try open()
        let found = try #require(repository.snapshot(named: "the best of 2025"))
        let entry = try #require(try repository.rootDirectory(of: found).entry(named: "expenses.json"))
        let lengths = try repository.pieces(of: entry.content).map { String($0.length) }
        #expect(String(decoding: cuts, as: UTF8.self) == lengths.joined(separator: " ") + "\n")
    }

    @Test func `the wrong password opens nothing`() throws {
        _ = try createWithFiles()
        for password in ["", "correct hors", "correct horse ", "Correct horse"] {
            #expect(errorCode { _ = try open(password) } == .wrongPassword, "\(password)")
        }
        #expect(errorCode { _ = try Repository.open(at: path) } == .wrongPassword)
        var wasAsked = false
        _ = try Repository.create(at: folder("plain"))
        _ = try Repository.open(at: folder("plain")) { (_) throws(BackupError) in
            wasAsked = true
            return .password(Self.secret("x"))
        }
        #expect(!wasAsked)
        // A key that is not this repository's own.
        #expect(
            errorCode {
                _ = try Repository.open(at: path) { (_) throws(BackupError) in .masterKey(Self.secret("short")) }
            } == .invalidArgument)
    }

    @Test func `equal data is stored once`() throws {
        _ = try createWithFiles()
        let writer = try open().makeWriter()
        for (_, bytes, policy) in Self.files { _ = try writer.store(bytes, policy: policy) }
        #expect(writer.storedByteCount == 0)
        writer.abandon()
    }

    // MARK: What is hidden

    @Test func `no file of the repository holds a name, a content or a checksum of either`() throws {
        _ = try createWithFiles()
        var secrets: [(String, [UInt8])] = [
            ("snapshot's name", Array("holiday".utf8)), ("label's name", Array("best of".utf8)),
            ("photo", Array(Self.photo[1_000..<1_016])), ("row", Array("odometer".utf8)),
            ("password", Array("correct horse".utf8)),
        ]
        for (name, bytes, _) in Self.files {
            let sums = ContentHasher.hash(bytes)
            secrets += [
                ("name", name.bytes), ("SHA-256", sums.sha256.bytes), ("MD5", sums.md5.bytes), ("SHA-1", sums.sha1.bytes),
                ("SHA-256 in digits", Array(sums.sha256.hexadecimal.utf8)),
            ]
        }
        secrets.append(("gear seed", Array("6261636b75706673".utf8)))
        let files = try everyFile()
        #expect(!files.keys.contains { $0.hasPrefix("catalog.sqlite") } && files.count > 8)
        for (file, bytes) in files {
            let data = Data(bytes)
            for (what, secret) in secrets { #expect(data.range(of: Data(secret)) == nil, "\(file) holds a \(what)") }
        }
        // The same search finds them in a plain repository.
        let plain = try Repository.create(at: folder("plain"))
        _ = try plain.makeWriter().commit(named: "holiday in Ystad", files: Self.files)
        let found = try run(["grep", "-rlaF", "holiday", folder("plain")]).bytes
        #expect(!found.isEmpty)
    }

    @Test func `the catalog does not tell checksums`() throws {
        _ = try createWithFiles()
        let catalog = try open().catalog.path
        let sums = try run(["sqlite3", catalog, "SELECT plain_crc32 || '\n' || stored_crc32 FROM chunks"]).bytes
        let numbers = Set(String(decoding: sums, as: UTF8.self).split(separator: "\n").map(String.init))
        #expect(numbers.count > 20)
        for bytes in [Self.photo, Self.otherPhoto] { #expect(!numbers.contains(String(CRC32.of(bytes)))) }
        // They are still the right ones, also in a rebuilt catalog.
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: catalog + suffix) }
        let repository = try open()
        let found = try #require(repository.snapshot(named: "the best of 2025"))
        let entry = try #require(try repository.rootDirectory(of: found).entry(named: "IMG_4711.jpg"))
        guard case .chunk(let chunk) = try #require(try repository.pieces(of: entry.content).first) else {
            Issue.record("a photo is no chunk")
            return
        }
        #expect(chunk.plainCRC32 == CRC32.of(Self.photo) && chunk.storedCRC32 == CRC32.of(Self.photo))
        try repository.verifyChunk(chunk.id)
    }

    @Test func `two repositories have nothing in common`() throws {
        func chunks(_ name: String) throws -> (ids: Set<String>, lengths: [String]) {
            let repository = try Repository.create(at: folder(name), password: Self.secret("correct horse"), cost: Self.cheap)
            _ = try repository.makeWriter().commit(named: "a", files: Self.files)
            func query(_ columns: String) throws -> [String] {
                let output = try run(
                    ["sqlite3", repository.catalog.path, "SELECT \(columns) FROM chunks ORDER BY pack, \"offset\""]
                ).bytes
                return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
            }
            return (Set(try query("id0 || ' ' || id1 || ' ' || id2 || ' ' || id3")), try query("plain_length"))
        }
        let first = try chunks("first")
        let second = try chunks("second")
        #expect(first.ids.count > 20 && first.ids.isDisjoint(with: second.ids))
        #expect(first.lengths != second.lengths)
    }

    // MARK: What is noticed

    /// Replaces bytes of a file of the repository.
    private func change(_ file: String, _ body: (inout [UInt8]) -> Void) throws {
        var bytes = try readFile(file)
        body(&bytes)
        try writeFile(file, bytes)
    }

    private func chunk(of name: FileName, in repository: Repository) throws -> StoredChunk {
        let snapshot = try #require(repository.snapshots().first)
        let entry = try #require(try repository.rootDirectory(of: snapshot).entry(named: name))
        for case .chunk(let chunk) in try repository.pieces(of: entry.content) { return chunk }
        throw BackupError(.notFound, "the file has no chunk")
    }

    @Test func `sealed chunks that change places are noticed`() throws {
        _ = try createWithFiles()
        let repository = try open()
        let first = try chunk(of: "IMG_4711.jpg", in: repository)
        let second = try chunk(of: "IMG_4712.jpg", in: repository)
        #expect(first.pack == second.pack && first.storedLength == 3_000 && second.storedLength == 3_000)
        try change(repository.layout.packPath(of: first.pack)) { bytes in
            for index in 0..<3_028 { bytes.swapAt(Int(first.packOffset) + index, Int(second.packOffset) + index) }
        }
        let opened = try open()
        #expect(errorCode { _ = try opened.file("IMG_4711.jpg", in: "the best of 2025") } == .repositoryDamaged)
        #expect(errorCode { _ = try opened.file("IMG_4712.jpg", in: "the best of 2025") } == .repositoryDamaged)
        #expect(try opened.file("expenses.json", in: "the best of 2025") == Self.rows)
        #expect(opened.verifyPack(first.pack).count == 2)
    }

    /// Nonce, first and last byte, tag.
    @Test(arguments: [0, 11, 12, 3_011, 3_012, 3_027]) func `a changed bit in a sealed chunk hurts its file only`(offset: Int)
        throws
    {
        _ = try createWithFiles()
        let hurt = try chunk(of: "IMG_4711.jpg", in: open())
        try change(try open().layout.packPath(of: hurt.pack)) { $0[Int(hurt.packOffset) + offset] ^= 0x10 }
        let repository = try open()
        for _ in 0..<2 {
            #expect(errorCode { _ = try repository.file("IMG_4711.jpg", in: "the best of 2025") } == .repositoryDamaged)
        }
        var part = [UInt8](repeating: 0, count: 10)
        #expect(
            errorCode { try part.withUnsafeMutableBytes { try repository.chunkReader.readStored(hurt, at: 5, into: $0) } }
                == .repositoryDamaged)
        #expect(errorCode { try repository.verifyChunk(hurt.id) } == .repositoryDamaged)
        for (name, bytes, _) in Self.files where name != "IMG_4711.jpg" {
            #expect(try repository.file(name, in: "the best of 2025") == bytes)
        }
    }

    @Test func `a changed structure is noticed`() throws {
        let snapshot = try createWithFiles()
        let repository = try open()
        let label = repository.layout.labelPath(of: snapshot.id)
        let whole = try readFile(label)
        for position in [0, 8, 20, whole.count - 1] {
            try change(label) { $0[position] ^= 1 }
            let opened = try open()
            #expect(opened.damages().map(\.code) == [.repositoryDamaged])
            #expect(opened.snapshots().map(\.name) == ["holiday in Ystad"] && opened.snapshots().allSatisfy { $0.isPinned })
            try writeFile(label, whole)
        }
        // A label of another snapshot, and one that is not sealed.
        let other = try repository.makeWriter().commit(named: "other", files: [])
        try repository.setPinned(other.id, true)
        try writeFile(label, try readFile(repository.layout.labelPath(of: other.id)))
        #expect(try open().damages().count == 1)
        try writeFile(label, SnapshotLabel(name: "forged", isPinned: false, verifiedAt: nil).encode(for: snapshot.id))
        #expect(try open().damages().map(\.message) == ["a snapshot label is not sealed, in an encrypted repository"])
        try writeFile(label, whole)

        // A record that another program made, under its right name.
        let forged = SnapshotRecord(
            kind: .snapshot, name: "forged", creationTime: Timestamp(seconds: 1), parent: nil, root: snapshot.record.root,
            archiveSizeBytes: 0, archiveLayout: [:], attributes: [:]
        ).encode()
        try writeFile(repository.layout.snapshotPath(of: SnapshotID(SHA256Hasher.hash(forged))), forged)
        let opened = try open()
        #expect(opened.snapshots().map(\.name) == ["other", "the best of 2025"] || opened.snapshots().count == 2)
        #expect(opened.damages().map(\.code) == [.repositoryDamaged])
    }

    @Test func `packs of plain and encrypted repositories are not mixed up`() throws {
        let plain = try Repository.create(at: folder("plain"))
        _ = try plain.makeWriter().commit(named: "a", files: [("f", Self.photo, .media)])
        let sealed = try create()
        _ = try sealed.makeWriter().commit(named: "a", files: [("f", Self.photo, .media)])
        #expect(try run(["cp", "-r", folder("plain/packs"), folder("moved")]).status == 0)
        #expect(try run(["cp", "-rn", "\(path)/packs/.", folder("plain/packs")]).status == 0)
        #expect(try run(["cp", "-rn", folder("moved") + "/.", "\(path)/packs"]).status == 0)
        let plainAgain = try Repository.open(at: folder("plain"))
        #expect(plainAgain.damages().count == 2)
        #expect(try plainAgain.file("f", in: "a") == Self.photo)
        let sealedAgain = try open()
        #expect(sealedAgain.damages().count == 2)
        #expect(try sealedAgain.file("f", in: "a") == Self.photo)
    }

    // MARK: Parts of chunks

    /// Archives are laid out over stored bytes, of which readers ask for any part.
    @Test func `parts of stored bytes are those of the whole`() throws {
        _ = try createWithFiles()
        let repository = try open()
        for name: FileName in ["video.mov", "expenses.json", "IMG_4711.jpg"] {
            let chunk = try chunk(of: name, in: repository)
            let count = Int(chunk.storedLength)
            func read(_ offset: Int, _ count: Int) throws -> [UInt8] {
                var bytes = [UInt8](repeating: 0, count: count)
                try bytes.withUnsafeMutableBytes { try repository.chunkReader.readStored(chunk, at: offset, into: $0) }
                return bytes
            }
            let whole = try read(0, count)
            #expect(CRC32.of(whole) == chunk.storedCRC32)
            for (offset, length) in [(0, 1), (1, count - 1), (count / 2, count / 3), (count - 1, 1), (count, 0)] {
                #expect(try read(offset, length) == Array(whole[offset..<offset + length]))
            }
            #expect(errorCode { _ = try read(count - 1, 2) } == .invalidArgument)
            #expect(chunk.codec == (name == "expenses.json" ? .deflate : .raw))
        }
    }

    // MARK: Objects that are not part of the repository

    @Test func `the change logs of devices open only with the key, and only under their names`() throws {
        let repository = try create()
        let bytes = Array("changes".utf8)
        let sealed = try repository.sealDeviceChanges(bytes, name: "devices/a")
        #expect(sealed.starts(with: Array("bfsseal\n".utf8)))
        #expect(sealed.firstRange(of: bytes) == nil)
        #expect(try open().openDeviceChanges(sealed, name: "devices/a") == bytes)
        #expect(errorCode { _ = try repository.openDeviceChanges(sealed, name: "devices/b") } == .repositoryDamaged)
        #expect(errorCode { _ = try repository.openDeviceChanges(bytes, name: "devices/a") } == .repositoryDamaged)
        var damaged = sealed
        damaged[12] ^= 1
        #expect(errorCode { _ = try repository.openDeviceChanges(damaged, name: "devices/a") } == .repositoryDamaged)
        let plain = try Repository.create(at: folder("plain"))
        #expect(try plain.sealDeviceChanges(bytes, name: "devices/a") == bytes)
        #expect(try plain.openDeviceChanges(bytes, name: "devices/a") == bytes)
    }
}
