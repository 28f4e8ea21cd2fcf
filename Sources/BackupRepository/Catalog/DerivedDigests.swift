import BackupCore
import SQLite
import SystemIO

/// Digests of derived files in the catalog: no folder records them, and they are computed once.
///
/// Table `digests`, which is made for its first row: a file's checksums by the fingerprint of its content. Each row has a code,
/// so that a damaged one is computed again instead of believed. In an encrypted repository the fingerprint is keyed and the
/// checksums are masked: plain ones would reveal whether the repository has a known file.
struct DerivedDigests {
    private static let schema = "CREATE TABLE IF NOT EXISTS digests (content BLOB PRIMARY KEY, sums BLOB NOT NULL) WITHOUT ROWID;"

    private static let codeSizeBytes = 16

    private let content: [UInt8]
    private let protection: RepositoryProtection

    /// - Parameter content: the fingerprint of the file's content.
    init(of content: SHA256Digest, _ protection: RepositoryProtection) {
        self.protection = protection
        if let key = protection.keys?.catalog {
            self.content = HMACSHA256.authenticate(Array("digests of".utf8) + content.bytes, key: key).bytes
        } else {
            self.content = content.bytes
        }
    }

    /// - Returns: `nil` when they are not known, or the row is damaged.
    func find(_ database: DatabaseConnection) throws(BackupError) -> Checksums? {
        let row = try database.statement("SELECT sums FROM digests WHERE content = ?")
        try content.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try row.bind(1, copying: bytes) }
        guard try row.step(), row.type(0) == .blob else { return nil }
        let stored = Array(row.bytes(0, isText: false))
        guard stored.count == Checksums.encodedSizeBytes + Self.codeSizeBytes else { return nil }
        let sums = masking(Array(stored[..<Checksums.encodedSizeBytes]))
        guard code(sums) == Array(stored[Checksums.encodedSizeBytes...]) else { return nil }
        var reader = ByteReader(sums)
        return try Checksums(decoding: &reader)
    }

    func insert(_ checksums: Checksums, _ database: DatabaseConnection) throws(BackupError) {
        var writer = ByteWriter()
        checksums.encode(into: &writer)
        try database.execute(Self.schema)
        let row = try database.statement("INSERT OR REPLACE INTO digests VALUES (?, ?)")
        try content.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try row.bind(1, copying: bytes) }
        let sums = masking(writer.bytes) + code(writer.bytes)
        try sums.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try row.bind(2, copying: bytes) }
        try row.run()
    }

    /// Masks the sums, or removes the mask.
    private func masking(_ sums: [UInt8]) -> [UInt8] {
        guard let key = protection.keys?.catalog else { return sums }
        var mask: [UInt8] = []
        while mask.count < sums.count {
            let block = Array("digests \(mask.count)".utf8) + content
            mask += HMACSHA256.authenticate(block, key: key).bytes
        }
        return zip(sums, mask).map { $0 ^ $1 }
    }

    private func code(_ sums: [UInt8]) -> [UInt8] {
        let text = Array("digests code".utf8) + content + sums
        guard let key = protection.keys?.catalog else { return Array(SHA256Hasher.hash(text).bytes.prefix(Self.codeSizeBytes)) }
        return Array(HMACSHA256.authenticate(text, key: key).bytes.prefix(Self.codeSizeBytes))
    }
}

extension Catalog {
    /// The digests of a derived file. A catalog that cannot be read knows none.
    /// - Parameter content: the fingerprint of its content.
    func digests(of content: SHA256Digest) -> Checksums? {
        try? read { (database) throws(BackupError) in try DerivedDigests(of: content, protection).find(database) }
    }

    /// Keeps the digests of a derived file. Where the catalog cannot be written, they are computed again by the next program.
    func keep(_ checksums: Checksums, of content: SHA256Digest) {
        try? write { (database) throws(BackupError) in try DerivedDigests(of: content, protection).insert(checksums, database) }
    }
}
