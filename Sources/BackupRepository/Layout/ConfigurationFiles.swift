import BackupCore
import SystemIO

/// `config` and `config.copy`: a single flipped bit in either must do no harm.
struct ConfigurationFiles: Sendable {
    let layout: RepositoryLayout

    /// The contents of the two files.
    struct Reading: Sendable {
        let configuration: RepositoryConfiguration
        /// Of the file that is used, as stored.
        let bytes: [UInt8]
        let copy: ConfigurationCopy?
        /// What is wrong with one of the files, if anything.
        let damage: BackupError?
        /// The contents of `config`, where the copy is used instead.
        fileprivate let other: [UInt8]?
    }

    /// The copy wins where the two differ, since it has a checksum; but a `config` of a later version is left alone.
    /// - Throws: `noRepository`, `unsupportedVersion`, `repositoryDamaged`.
    func read() throws(BackupError) -> Reading {
        let (copy, copyDamage) = try readCopy()
        let bytes: [UInt8]
        do throws(BackupError) {
            bytes = try FileSystem.readFile(layout.config, limitBytes: RepositoryConfiguration.byteCountLimit)
        } catch {
            if let copy, error.code != .notADirectory, error.code != .tooLarge {
                return try reading(from: copy, instead: nil, of: error)
            }
            guard error.code == .notFound || error.code == .notADirectory else { throw error }
            throw BackupError(
                .noRepository, "there is no repository here", path: layout.path,
                remedy: "Check the path. Is the disk mounted?")
        }
        if let copy, copy.bytes != bytes, !isOfLaterVersion(bytes, copy) {
            let error = BackupError(
                .repositoryDamaged, "the repository's config is not what its copy says", path: layout.config,
                remedy: "The copy is used. Put it right with: backupfs check --repair")
            return try reading(from: copy, instead: bytes, of: error)
        }
        do throws(BackupError) {
            return Reading(
                configuration: try RepositoryConfiguration(decoding: bytes), bytes: bytes, copy: copy, damage: copyDamage,
                other: nil)
        } catch {
            throw error.at(layout.config)
        }
    }

    private func reading(
        from copy: ConfigurationCopy, instead other: [UInt8]?, of damage: BackupError
    ) throws(BackupError) -> Reading {
        do throws(BackupError) {
            return Reading(
                configuration: try RepositoryConfiguration(decoding: copy.bytes), bytes: copy.bytes, copy: copy,
                damage: damage.with(.repositoryDamaged, path: layout.config), other: other)
        } catch {
            throw error.at(layout.configCopy)
        }
    }

    private func readCopy() throws(BackupError) -> (copy: ConfigurationCopy?, damage: BackupError?) {
        do throws(BackupError) {
            let bytes = try FileSystem.readFile(layout.configCopy, limitBytes: ConfigurationCopy.byteCountLimit)
            return (try ConfigurationCopy(decoding: bytes), nil)
        } catch {
            // Repositories of older programs have none, and one of a later version is left alone.
            if [.notFound, .notADirectory, .unsupportedVersion].contains(error.code) { return (nil, nil) }
            return (nil, error.at(layout.configCopy))
        }
    }

    /// Whether a later version may have written the file: it differs in more than one bit.
    private func isOfLaterVersion(_ bytes: [UInt8], _ copy: ConfigurationCopy) -> Bool {
        do {
            _ = try RepositoryConfiguration(decoding: bytes)
            return false
        } catch {
            guard error.code == .unsupportedVersion else { return false }
            let differences = zip(bytes, copy.bytes).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
            return bytes.count != copy.bytes.count || differences > 1
        }
    }

    /// Selects the file that the key's owner wrote: a user who can write to an encrypted repository must not be able to control
    /// how files are cut.
    /// - Throws: `repositoryDamaged` when the key's owner wrote neither file.
    func authenticated(_ reading: Reading, _ keys: RepositoryKeys) throws(BackupError) -> Reading {
        guard let proof = reading.copy?.proof, proof != ConfigurationCopy.proof(of: reading.bytes, keys) else { return reading }
        if let other = reading.other, proof == ConfigurationCopy.proof(of: other, keys) {
            return Reading(
                configuration: try RepositoryConfiguration(decoding: other), bytes: other, copy: nil,
                damage: BackupError(
                    .repositoryDamaged, "the copy of the repository's config was not written with its key",
                    path: layout.configCopy, remedy: "Put it right with: backupfs check --repair"), other: nil)
        }
        throw BackupError(
            .repositoryDamaged, "the repository's config was changed by another program", path: layout.config,
            remedy: "Copy config and config.copy back from another copy of the repository.")
    }

    /// What the two files say now, for a caller that has the keys.
    func read(_ keys: RepositoryKeys?) throws(BackupError) -> Reading {
        let reading = try read()
        guard let keys else { return reading }
        return try authenticated(reading, keys)
    }

    /// Writes the copy if there is none; the caller holds the writer's lock. Everything works without a copy as well.
    func addCopy(_ reading: Reading, _ keys: RepositoryKeys?) {
        guard reading.damage == nil, reading.copy == nil, (try? FileSystem.exists(layout.configCopy)) == false else { return }
        try? write(ConfigurationCopy(of: reading.bytes, keys: keys))
    }

    func write(_ copy: ConfigurationCopy) throws(BackupError) {
        try layout.publish(copy.encode(), to: layout.configCopy)
    }

    /// Writes to both files what was read. Damaged files are kept in `damaged/`.
    func repair(_ reading: Reading, _ keys: RepositoryKeys?) throws(BackupError) {
        for path in [layout.config, layout.configCopy] {
            guard let bytes = try? FileSystem.readFile(path, limitBytes: ConfigurationCopy.byteCountLimit) else { continue }
            try PrivateFile.makeFolder(layout.damaged)
            try layout.publish(bytes, to: "\(layout.damaged)/\(FileSystem.lastComponent(path))")
        }
        try layout.publish(reading.bytes, to: layout.config)
        try write(ConfigurationCopy(of: reading.bytes, keys: keys))
    }
}

/// `config.copy`: a copy of the bytes of `config`, with a checksum, which `config` itself cannot have (older programs reject
/// unknown keys). In an encrypted repository it also has a proof that the writer had the key.
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
