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
        let protection =
            if let gearSeed = chunker.gearSeed {
                "gear-seed: \(Hexadecimal.encode(withUnsafeBytes(of: gearSeed.bigEndian) { Array($0) }))"
            } else {
                "encryption: \(Self.encryptionName)"
            }
        let lines = [
            Self.magic,
            "format: \(Self.formatVersion)",
            "id: \(repositoryID)",
            "chunker: \(Self.chunkerName)",
            protection,
            "media: \(sizes(chunker.media))",
            "structured-text: \(sizes(chunker.structuredText))",
            "metadata: \(sizes(chunker.metadata))",
            "database-piece: \(chunker.databasePieceBytes)",
        ]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    init(repositoryID: String, chunker: ChunkerParameters) {
        self.repositoryID = repositoryID
        self.chunker = chunker
    }

    /// - Throws: `unsupportedVersion` for another format version and for unknown keys; `repositoryDamaged`.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        guard let text = String(validating: bytes, as: UTF8.self), text.hasSuffix("\n") else { throw Self.damaged("is cut off") }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        guard lines.popFirst() == Self.magic[...] else { throw Self.damaged("does not start as one") }
        var values: [Substring: Substring] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), line[colon...].hasPrefix(": ") else {
                throw Self.damaged("has a line that is not “key: value”")
            }
            guard values.updateValue(line[line.index(colon, offsetBy: 2)...], forKey: line[..<colon]) == nil else {
                throw Self.damaged("has a key twice")
            }
        }
        guard let format = values.removeValue(forKey: "format") else { throw Self.damaged("names no format version") }
        guard format == "\(Self.formatVersion)" else {
            throw StructureHeader.unsupported(Int(format) ?? 0, name: "repository")
        }
        guard let id = values.removeValue(forKey: "id"), id.utf8.count == 32, Hexadecimal.decode(id.utf8) != nil else {
            throw Self.damaged("has no repository ID")
        }
        guard let chunkerName = values.removeValue(forKey: "chunker") else { throw Self.damaged("names no chunker") }
        guard chunkerName == Self.chunkerName[...] else {
            throw Self.unsupported("its chunker “\(MessageText.shortened(String(chunkerName)))”")
        }
        var gearSeed: UInt64?
        if let encryption = values.removeValue(forKey: "encryption") {
            guard encryption == Self.encryptionName[...] else {
                throw Self.unsupported("its encryption “\(MessageText.shortened(String(encryption)))”")
            }
        } else {
            guard let seed = values.removeValue(forKey: "gear-seed"), seed.utf8.count == 16, let number = UInt64(seed, radix: 16)
            else { throw Self.unsupported("its chunker “\(MessageText.shortened(String(chunkerName)))”") }
            gearSeed = number
        }
        let chunker = ChunkerParameters(
            gearSeed: gearSeed, media: try Self.sizes(values.removeValue(forKey: "media")),
            structuredText: try Self.sizes(values.removeValue(forKey: "structured-text")),
            metadata: try Self.sizes(values.removeValue(forKey: "metadata")),
            databasePieceBytes: try Self.piece(values.removeValue(forKey: "database-piece")))
        if let unknown = values.keys.min() { throw Self.unsupported("its setting “\(MessageText.shortened(String(unknown)))”") }
        self.init(repositoryID: String(id), chunker: chunker)
    }

    private static func sizes(_ text: Substring?) throws(BackupError) -> ChunkerParameters.Sizes {
        let numbers = (text ?? "").split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 3,
            let sizes = ChunkerParameters.Sizes(
                minimumBytes: numbers[0], averageBytes: numbers[1], maximumBytes: numbers[2])
        else { throw damaged("has impossible chunk sizes") }
        return sizes
    }

    private static func piece(_ text: Substring?) throws(BackupError) -> Int {
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
