import BackupCore
import SystemIO

/// `config.copy`: a copy of the bytes of `config`, with a checksum, which `config` itself cannot have (older programs reject unknown keys). In an encrypted
/// repository it also has a proof that the writer had the key.
struct ConfigurationCopy: Equatable, Sendable {
    private static let magic = "backupfs-config-copy"
    private static let formatVersion = "1"
    static let byteCountLimit = RepositoryConfiguration.byteCountLimit + 1024

    /// The bytes of `config`.
    let bytes: [UInt8]
    /// HMAC-SHA-256 of them, with a key used only for that.
    let proof: SHA256Digest?

    init(of bytes: [UInt8], keys: RepositoryKeys?) {
        self.bytes = bytes
        proof = keys.map { Self.proof(of: bytes, $0) }
    }

    static func proof(of bytes: [UInt8], _ keys: RepositoryKeys) -> SHA256Digest {
        HMACSHA256.authenticate(bytes, key: keys.configuration)
    }

    /// The checksum covers everything after it.
    func encode() -> [UInt8] {
        let rest = Array("format: \(Self.formatVersion)\nproof: \(proof?.hexadecimal ?? "none")\n\n".utf8) + bytes
        let head = "\(Self.magic)\nsha256: \(SHA256Hasher.hash(rest).hexadecimal)\n"
        return Array(head.utf8) + rest
    }

    /// - Throws: `repositoryDamaged`; `unsupportedVersion`.
    init(decoding encoded: [UInt8]) throws(BackupError) {
        var rest = encoded[...]
        func line() throws(BackupError) -> String {
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")), let text = String(validating: rest[..<end], as: UTF8.self)
            else { throw Self.damaged }
            rest = rest[(end + 1)...]
            return text
        }
        func value(_ key: String) throws(BackupError) -> String {
            let line = try line()
            guard line.hasPrefix("\(key): ") else { throw Self.damaged }
            return String(line.dropFirst(key.count + 2))
        }
        guard try line() == Self.magic else { throw Self.damaged }
        // Checked first, so that a flipped bit is not mistaken for a later version.
        guard try value("sha256") == SHA256Hasher.hash(Array(rest)).hexadecimal else { throw Self.damaged }
        let version = try value("format")
        guard version == Self.formatVersion else {
            throw StructureHeader.unsupported(Int(version) ?? 0, name: "copy of the config")
        }
        let proof = try value("proof")
        guard try line().isEmpty else { throw Self.damaged }
        if proof == "none" {
            self.proof = nil
        } else {
            guard let digest = SHA256Digest(hexadecimal: proof) else { throw Self.damaged }
            self.proof = digest
        }
        bytes = Array(rest)
    }

    private static var damaged: BackupError {
        BackupError(
            .repositoryDamaged, "the copy of the repository's config is damaged",
            remedy: "No data is affected: backupfs check --repair rewrites it.")
    }
}
