import BackupCore
import SystemIO

/// The `config` file: what a repository is and how it cuts files. Lines of text, `key: value`.
struct RepositoryConfiguration: Hashable, Sendable {
    private static let magic = "backupfs-repository"
    private static let formatVersion = 1
    private static let chunkerName = "fastcdc-gear64"
    private static let encryptionName = "aes-256-gcm"
    static let byteCountLimit = 64 << 10

    /// 32 hexadecimal digits, random.
    let repositoryID: String
    /// Without a gear seed the repository is encrypted, and the seed is derived from the key.
    let chunker: ChunkerParameters

    var isEncrypted: Bool { chunker.gearSeed == nil }

    func encode() -> [UInt8] {
        func sizes(_ value: ChunkerParameters.Sizes) -> String {
            "\(value.minimumBytes) \(value.averageBytes) \(value.maximumBytes)"
        }
        var record = KeyValueRecord(magic: Self.magic)
        record.append("format", Self.formatVersion)
        record.append("id", repositoryID)
        record.append("chunker", Self.chunkerName)
        if let gearSeed = chunker.gearSeed {
            record.append("gear-seed", Hexadecimal.encode(withUnsafeBytes(of: gearSeed.bigEndian) { Array($0) }))
        } else {
            record.append("encryption", Self.encryptionName)
        }
        record.append("media", sizes(chunker.media))
        record.append("structured-text", sizes(chunker.structuredText))
        record.append("metadata", sizes(chunker.metadata))
        record.append("database-piece", chunker.databasePieceBytes)
        return record.encoded
    }

    init(repositoryID: String, chunker: ChunkerParameters) {
        self.repositoryID = repositoryID
        self.chunker = chunker
    }

    /// - Throws: `unsupportedVersion` for another format version and for unknown keys; `repositoryDamaged`.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        var values = KeyValueRecord(decoding: bytes, magic: Self.magic)
        switch values.flaws.first {
        case .notText, .cutOff: throw Self.damaged("is cut off")
        case .foreign: throw Self.damaged("does not start as one")
        case .emptyLine, .noPair, .noSpace: throw Self.damaged("has a line that is not “key: value”")
        case .repeated: throw Self.damaged("has a key twice")
        case nil: break
        }
        guard let format = values.take("format") else { throw Self.damaged("names no format version") }
        guard format == "\(Self.formatVersion)" else {
            throw StructureHeader.unsupported(Int(format) ?? 0, name: "repository")
        }
        guard let id = values.take("id"), id.utf8.count == 32, Hexadecimal.decode(id.utf8) != nil else {
            throw Self.damaged("has no repository ID")
        }
        guard let chunkerName = values.take("chunker") else { throw Self.damaged("names no chunker") }
        guard chunkerName == Self.chunkerName else {
            throw Self.unsupported("its chunker “\(MessageText.shortened(chunkerName))”")
        }
        var gearSeed: UInt64?
        if let encryption = values.take("encryption") {
            guard encryption == Self.encryptionName else {
                throw Self.unsupported("its encryption “\(MessageText.shortened(encryption))”")
            }
        } else {
            guard let seed = values.take("gear-seed"), seed.utf8.count == 16, let number = UInt64(seed, radix: 16)
            else { throw Self.unsupported("its chunker “\(MessageText.shortened(chunkerName))”") }
            gearSeed = number
        }
        let chunker = ChunkerParameters(
            gearSeed: gearSeed, media: try Self.sizes(values.take("media")),
            structuredText: try Self.sizes(values.take("structured-text")),
            metadata: try Self.sizes(values.take("metadata")),
            databasePieceBytes: try Self.piece(values.take("database-piece")))
        if let unknown = values.firstKey { throw Self.unsupported("its setting “\(MessageText.shortened(unknown))”") }
        self.init(repositoryID: id, chunker: chunker)
    }

    private static func sizes(_ text: String?) throws(BackupError) -> ChunkerParameters.Sizes {
        let numbers = (text ?? "").split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 3,
            let sizes = ChunkerParameters.Sizes(
                minimumBytes: numbers[0], averageBytes: numbers[1], maximumBytes: numbers[2])
        else { throw damaged("has impossible chunk sizes") }
        return sizes
    }

    private static func piece(_ text: String?) throws(BackupError) -> Int {
        guard let text, let number = Int(text), number >= 512, number <= ChunkLimits.plainLengthBytes else {
            throw damaged("has an impossible chunk size")
        }
        return number
    }

    private static func damaged(_ what: Message) -> BackupError {
        BackupError(
            .repositoryDamaged, "the repository's config \(what)",
            remedy: "Copy this file back from another copy of the repository, if there is one.")
    }

    private static func unsupported(_ what: Message) -> BackupError {
        BackupError(
            .unsupportedVersion, "this program does not know the repository's format: \(what)",
            remedy: "Use a newer version of backupfs.")
    }
}
