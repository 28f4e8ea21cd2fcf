import BackupCore
import SystemIO

/// The file with an encrypted repository's master key, wrapped by a key derived from the password (format document, "The key
/// file"). A new password only wraps the same master key again.
struct KeyFile: Hashable, Sendable {
    private static let magic = "backupfs-key"
    private static let formatVersion = 1
    private static let saltByteCount = 32
    static let masterKeyByteCount = 32
    static let byteCountLimit = 4096

    /// Everything before the wrapped key; it is authenticated with the key.
    private let header: [UInt8]
    private let parameters: Scrypt
    private let salt: [UInt8]
    private let wrapped: [UInt8]

    /// Wraps a master key with a new salt.
    init(wrapping masterKey: SecretBytes, password: SecretBytes, repositoryID: String, cost: Scrypt) throws(BackupError) {
        parameters = cost
        salt = try SecureRandom.bytes(count: Self.saltByteCount)
        let header = Self.header(repositoryID: repositoryID, parameters: cost, salt: salt)
        self.header = header
        let key = try cost.deriveKey(from: password, salt: salt, count: AESGCM.keyByteCount)
        var wrapped = [UInt8](repeating: 0, count: masterKey.count + AESGCM.overheadByteCount)
        try wrapped.withUnsafeMutableBytesThrowing { (output) throws(BackupError) in
            try masterKey.withUnsafeBytes { (plain) throws(BackupError) in
                try key.withUnsafeBytes { (key) throws(BackupError) in
                    try header.withUnsafeBytesThrowing { (header) throws(BackupError) in
                        try AESGCM.seal(plain, key: key, associatedData: header, into: output)
                    }
                }
            }
        }
        self.wrapped = wrapped
    }

    /// - Throws: `wrongPassword`.
    func masterKey(password: SecretBytes) throws(BackupError) -> SecretBytes {
        let key = try parameters.deriveKey(from: password, salt: salt, count: AESGCM.keyByteCount)
        return try SecretBytes(count: Self.masterKeyByteCount) { (output) throws(BackupError) in
            let isRight = key.withUnsafeBytes { key in
                wrapped.withUnsafeBytes { wrapped in
                    header.withUnsafeBytes { AESGCM.open(wrapped, key: key, associatedData: $0, into: output) }
                }
            }
            guard isRight else {
                throw BackupError(
                    .wrongPassword, "the password is wrong",
                    remedy: "Type it again, or name the file that holds the right one with --password-file.")
            }
        }
    }

    private static func header(repositoryID: String, parameters: Scrypt, salt: [UInt8]) -> [UInt8] {
        let lines = [
            magic,
            "format: \(formatVersion)",
            "repository: \(repositoryID)",
            "scrypt: \(parameters.costExponent) \(parameters.blockSize) \(parameters.parallelization)",
            "salt: \(Hexadecimal.encode(salt))",
        ]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }
}

// MARK: - Writing and reading

extension KeyFile {
    func encode() -> [UInt8] {
        let checked = header + Array("wrapped: \(Hexadecimal.encode(wrapped))\n".utf8)
        return checked + Array("sha256: \(SHA256Hasher.hash(checked).hexadecimal)\n".utf8)
    }

    /// - Throws: `repositoryDamaged`, also for the key of another repository; `unsupportedVersion`.
    init(decoding bytes: [UInt8], repositoryID: String) throws(BackupError) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Self.damaged("is not text") }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // The checksum first: a damaged key must not look like a wrong password.
        guard lines.popLast() == "", let checksum = lines.popLast(), bytes.count > checksum.utf8.count,
            checksum == "sha256: \(SHA256Hasher.hash(Array(bytes.dropLast(checksum.utf8.count + 1))).hexadecimal)"
        else { throw Self.damaged("does not fit its checksum") }
        guard lines.count >= 2, lines[0] == Self.magic[...], let format = Self.value(of: "format", in: lines[1]) else {
            throw Self.damaged("does not start as one")
        }
        guard format == "\(Self.formatVersion)" else { throw StructureHeader.unsupported(Int(format) ?? 0, name: "key file") }
        guard lines.count == 6, let repository = Self.value(of: "repository", in: lines[2]),
            let numbers = Self.value(of: "scrypt", in: lines[3])?.split(separator: " ").map({ Int($0) }), numbers.count == 3,
            let cost = numbers[0], let block = numbers[1], let parallelization = numbers[2],
            let salt = Self.value(of: "salt", in: lines[4]).flatMap({ Hexadecimal.decode($0.utf8) }),
            salt.count == Self.saltByteCount,
            let wrapped = Self.value(of: "wrapped", in: lines[5]).flatMap({ Hexadecimal.decode($0.utf8) }),
            wrapped.count == Self.masterKeyByteCount + AESGCM.overheadByteCount
        else { throw Self.damaged("does not hold what it should") }
        guard repository == repositoryID[...] else { throw Self.damaged("is that of another repository") }
        parameters = Scrypt(costExponent: cost, blockSize: block, parallelization: parallelization)
        guard parameters.isAcceptable else {
            throw BackupError(
                .unsupportedVersion,
                "the key file asks for scrypt with parameters \(cost) \(block) \(parallelization), which is beyond all reason",
                remedy: "Copy this file back from another copy of the repository, if there is one.")
        }
        self.salt = salt
        self.wrapped = wrapped
        header = Array((lines[..<5].joined(separator: "\n") + "\n").utf8)
    }

    private static func value(of key: String, in line: Substring) -> Substring? {
        line.hasPrefix("\(key): ") ? line.dropFirst(key.count + 2) : nil
    }

    private static func damaged(_ what: Message) -> BackupError {
        BackupError(
            .repositoryDamaged, "the key file \(what)",
            remedy: "Copy this file back from another copy of the repository: without it nothing can be read.")
    }
}
