import BackupCore
import SQLite
import SystemIO

/// What was once found out about a content and stays true, in the catalog: no folder records it.
///
/// Each kind has a table, which is made for its first row: the value by the fingerprint of the content. Each row has a code, so
/// that a damaged one is found out again instead of believed. In an encrypted repository the fingerprint is keyed and the value
/// is masked: plain ones would reveal whether the repository has a known file.
struct ContentValue {
    private static let codeSizeBytes = 16

    private let kind: ContentValueKind
    private let content: [UInt8]
    private let protection: RepositoryProtection

    /// - Parameter content: the fingerprint of the content.
    init(_ kind: ContentValueKind, of content: SHA256Digest, _ protection: RepositoryProtection) {
        self.kind = kind
        self.protection = protection
        if let key = protection.keys?.catalog {
            self.content = HMACSHA256.authenticate(Array("\(kind.rawValue) of".utf8) + content.bytes, key: key).bytes
        } else {
            self.content = content.bytes
        }
    }

    /// - Returns: `nil` when it is not known, or the row is damaged.
    func find(_ database: DatabaseConnection) throws(BackupError) -> [UInt8]? {
        let row = try database.statement("SELECT sums FROM \(kind.rawValue) WHERE content = ?")
        try content.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try row.bind(1, copying: bytes) }
        guard try row.step(), row.type(0) == .blob else { return nil }
        let stored = Array(row.bytes(0, isText: false))
        guard stored.count >= Self.codeSizeBytes else { return nil }
        let value = masking(Array(stored.dropLast(Self.codeSizeBytes)))
        return code(value) == Array(stored.suffix(Self.codeSizeBytes)) ? value : nil
    }

    func insert(_ value: [UInt8], _ database: DatabaseConnection) throws(BackupError) {
        // The column has the name that it had when there were only digests.
        try database.execute(
            "CREATE TABLE IF NOT EXISTS \(kind.rawValue) (content BLOB PRIMARY KEY, sums BLOB NOT NULL) WITHOUT ROWID;")
        let row = try database.statement("INSERT OR REPLACE INTO \(kind.rawValue) VALUES (?, ?)")
        try content.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try row.bind(1, copying: bytes) }
        let stored = masking(value) + code(value)
        try stored.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try row.bind(2, copying: bytes) }
        try row.run()
    }

    /// Removes all values of these kinds.
    static func removeAll(_ kinds: [ContentValueKind], _ database: DatabaseConnection) throws(BackupError) {
        for kind in kinds { try database.execute("DROP TABLE IF EXISTS \(kind.rawValue)") }
    }

    /// Masks the value, or removes the mask.
    private func masking(_ value: [UInt8]) -> [UInt8] {
        guard let key = protection.keys?.catalog else { return value }
        var mask: [UInt8] = []
        while mask.count < value.count {
            let block = Array("\(kind.rawValue) \(mask.count)".utf8) + content
            mask += HMACSHA256.authenticate(block, key: key).bytes
        }
        return zip(value, mask).map { $0 ^ $1 }
    }

    private func code(_ value: [UInt8]) -> [UInt8] {
        let text = Array("\(kind.rawValue) code".utf8) + content + value
        guard let key = protection.keys?.catalog else { return Array(SHA256Hasher.hash(text).bytes.prefix(Self.codeSizeBytes)) }
        return Array(HMACSHA256.authenticate(text, key: key).bytes.prefix(Self.codeSizeBytes))
    }
}

/// The kinds of values that the catalog keeps for contents. Each is the name of a table: values of another form get another one.
enum ContentValueKind: String {
    /// Checksums of derived files.
    case digests
    /// The packs that hold a large content.
    case packs = "content_packs"
    /// How long a large content is as a member of a ZIP archive.
    case archived = "content_archived"
}

extension Catalog {
    /// A value of a content. A catalog that cannot be read knows none.
    /// - Parameter content: its fingerprint.
    func value(_ kind: ContentValueKind, of content: SHA256Digest) -> [UInt8]? {
        try? read { (database) throws(BackupError) in try ContentValue(kind, of: content, protection).find(database) }
    }

    /// Keeps values by the fingerprints of their contents. Where the catalog cannot be written, the next program finds them out
    /// again.
    func keep(_ kind: ContentValueKind, _ values: [(content: SHA256Digest, value: [UInt8])]) {
        guard !values.isEmpty else { return }
        try? write { (database) throws(BackupError) in
            for (content, value) in values { try ContentValue(kind, of: content, protection).insert(value, database) }
        }
    }
}

extension Catalog {
    /// The digests of a derived file.
    /// - Parameter content: the fingerprint of its content.
    func digests(of content: SHA256Digest) -> Checksums? {
        guard let bytes = value(.digests, of: content), bytes.count == Checksums.encodedSizeBytes else { return nil }
        var reader = ByteReader(bytes)
        return try? Checksums(decoding: &reader)
    }

    /// Keeps the digests of a derived file.
    func keep(_ checksums: Checksums, of content: SHA256Digest) {
        var writer = ByteWriter()
        checksums.encode(into: &writer)
        keep(.digests, [(content, writer.bytes)])
    }
}
