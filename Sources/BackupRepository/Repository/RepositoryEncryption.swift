import BackupCore
import SystemIO

extension Repository {
    /// Whether it opens only with a password, or with its key.
    public var isEncrypted: Bool { configuration.isEncrypted }

    /// The key that opens the repository without its password, for another process of the
    /// same user that continues with it; `nil` in a plain repository. Keep it in memory only.
    public var masterKey: SecretBytes? { protection.masterKey }

    /// The bytes of an object of the change logs of an app's devices, as they are stored in a remote.
    /// - Parameter name: of the object, whose place no other can take.
    /// - Throws: `inputOutput` when the system returns no random numbers.
    public func sealDeviceChanges(_ bytes: [UInt8], name: String) throws(BackupError) -> [UInt8] {
        try protection.seal(bytes, as: .deviceChanges(name: name))
    }

    /// Reverses `sealDeviceChanges`.
    /// - Throws: `repositoryDamaged` for bytes that were not sealed with this repository's key for that name.
    public func openDeviceChanges(_ bytes: [UInt8], name: String) throws(BackupError) -> [UInt8] {
        try protection.open(bytes, as: .deviceChanges(name: name))
    }

    /// Wraps the master key with another password. No data is rewritten. After a crash the old password, the new one or both are
    /// valid; after an error the old.
    ///
    /// With a copy of the old key file and the old password, the repository can still be opened: the master key stays the same.
    /// - Throws: `notSupported` in a plain repository; `noSpace`, `inputOutput`.
    public func changePassword(to password: SecretBytes) throws(BackupError) {
        try changePassword(to: password, cost: .standard)
    }

    func changePassword(to password: SecretBytes, cost: Scrypt) throws(BackupError) {
        guard let masterKey else {
            throw BackupError(
                .notSupported, "the repository is not encrypted, so it has no password", path: path,
                remedy: "Make an encrypted one with: backupfs init --encrypt")
        }
        let key = try KeyFile(wrapping: masterKey, password: password, repositoryID: id, cost: cost)
        let lock = try WaitingLock.acquire(path: layout.namesLock)
        defer { withExtendedLifetime(lock) {} }
        try layout.requireOpened()
        try keyStore.replace(by: key)
    }

    var keyStore: KeyStore { KeyStore(layout: layout, repositoryID: id) }

    /// The keys of an encrypted repository; `nil` for a plain one.
    /// - Throws: `wrongPassword`; `repositoryDamaged` when the key file is damaged.
    static func keys(
        _ layout: RepositoryLayout, _ configuration: RepositoryConfiguration, _ secret: RepositorySecretSource?
    ) throws(BackupError) -> RepositoryKeys? {
        guard configuration.isEncrypted else { return nil }
        guard let secret else {
            throw BackupError(
                .wrongPassword, "the repository is encrypted, and no password was given", path: layout.path,
                remedy: "Name the file that holds it with --password-file.")
        }
        let store = KeyStore(layout: layout, repositoryID: configuration.repositoryID)
        let masterKey: SecretBytes
        switch try secret(layout.path) {
        case .masterKey(let key): masterKey = key
        case .password(let password):
            do throws(BackupError) {
                masterKey = try store.masterKey(password: password)
            } catch {
                throw error.at(layout.path)
            }
            // If nothing can be written, the check goes on reporting it.
            _ = try? store.repair()
        }
        return try RepositoryKeys(master: masterKey, repositoryID: configuration.repositoryID)
    }
}

/// What a repository's config says, read without its password.
public struct RepositoryFacts: Sendable, Equatable {
    /// 32 hexadecimal digits, unique to this repository.
    public let id: String
    /// Whether it opens only with a password.
    public let isEncrypted: Bool

    public init(id: String, isEncrypted: Bool) {
        self.id = id
        self.isEncrypted = isEncrypted
    }

    /// - Parameter location: of the copy with these facts, for an error.
    /// - Throws: `notPermitted` when it is not a copy of that repository.
    public func requireCopy(of original: RepositoryFacts, at location: String) throws(BackupError) {
        guard self != original else { return }
        throw BackupError(
            .notPermitted, "this is a copy of another repository, \(id)", path: location,
            remedy: "Choose another folder or prefix: each repository needs its own.")
    }
}

extension Repository {
    public var facts: RepositoryFacts { RepositoryFacts(id: id, isEncrypted: isEncrypted) }

    /// - Throws: `noRepository`, `unsupportedVersion`, `repositoryDamaged`, as `open` does.
    public static func facts(at path: String) throws(BackupError) -> RepositoryFacts {
        let layout = RepositoryLayout(path: FileSystem.absolutePath(path))
        let configuration = try ConfigurationFiles(layout: layout).read().configuration
        return RepositoryFacts(id: configuration.repositoryID, isEncrypted: configuration.isEncrypted)
    }

    /// To be called before a store trusts the config of a repository that it has not used: a user who can write there could have
    /// switched the encryption off.
    /// - Throws: `notPermitted` for a repository that has a key file although its config says that it is not encrypted.
    public static func requireNoKey(unlessEncrypted facts: RepositoryFacts, at path: String) throws(BackupError) {
        guard !facts.isEncrypted else { return }
        let layout = RepositoryLayout(path: FileSystem.absolutePath(path))
        for key in [layout.key, layout.keyCopy] where try FileSystem.exists(key) {
            throw BackupError(
                .notPermitted, "the repository has a key file, and its config says that it is not encrypted", path: key,
                remedy: "Its config was changed by another program. Copy it back from another copy of the repository.")
        }
    }
}
