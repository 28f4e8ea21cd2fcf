import BackupCore
import SystemIO

/// The key file and a second copy beside it: one damaged sector must not make every backup unreadable.
struct KeyStore {
    private let layout: RepositoryLayout
    private let repositoryID: String

    init(layout: RepositoryLayout, repositoryID: String) {
        self.layout = layout
        self.repositoryID = repositoryID
    }

    /// The key file, or its copy if the file itself is missing or damaged.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    func read() throws(BackupError) -> KeyFile {
        do throws(BackupError) {
            return try read(layout.key)
        } catch {
            // A file of a later version is not damaged, and its copy may be older.
            guard error.code != .unsupportedVersion else { throw error }
            if let copy = try? read(layout.keyCopy) { return copy }
            guard error.code == .notFound else { throw error }
            throw BackupError(
                .repositoryDamaged, "the key file is missing", path: layout.key,
                remedy: "Copy this file back from another copy of the repository: without it nothing can be read.")
        }
    }

    /// The master key. If the file and its copy are both whole but differ, either may be the newer one. The one that the password
    /// opens is used.
    /// - Throws: `wrongPassword`; as `read`.
    func masterKey(password: SecretBytes) throws(BackupError) -> SecretBytes {
        let key = try read()
        do throws(BackupError) {
            return try key.masterKey(password: password)
        } catch {
            guard error.code == .wrongPassword, let copy = try? read(layout.keyCopy), copy != key else { throw error }
            return try copy.masterKey(password: password)
        }
    }

    private func read(_ path: String) throws(BackupError) -> KeyFile {
        do throws(BackupError) {
            let bytes = try FileSystem.readFile(path, limitBytes: KeyFile.byteCountLimit)
            return try KeyFile(decoding: bytes, repositoryID: repositoryID)
        } catch {
            throw error.at(path)
        }
    }

    private func publish(_ key: KeyFile, to path: String) throws(BackupError) {
        try layout.publish(key.encode(), to: path)
    }

    // MARK: Both files

    /// Creates both files of a new repository, durably.
    func create(_ key: KeyFile) throws(BackupError) {
        try publish(key, to: layout.keyCopy)
        try publish(key, to: layout.key)
    }

    /// Replaces the key file, durably: first the copy, then the file itself, which counts until then. So after a crash the old
    /// password, both or the new one are valid; after an error the old one is valid; after success the old one opens nothing. The
    /// caller holds the lock on names.
    /// - Throws: errors of writing. If not even the old key can be restored, the message says that either password may be valid.
    func replace(by key: KeyFile) throws(BackupError) {
        let old = try beginReplacement()
        do throws(BackupError) {
            try publish(key, to: layout.keyCopy)
            try FaultInjection.reached("password.copy-replaced")
            try publish(key, to: layout.key)
            try FaultInjection.reached("password.key-replaced")
        } catch {
            // If there was no readable key file, the new one is the only one.
            guard let old else { throw error }
            throw putBack(old, after: error)
        }
    }

    /// The previous contents of the two files, to be restored after an error.
    private struct Files {
        let key: KeyFile
        let copy: KeyFile
    }

    /// - Returns: the valid key, which then is in the file itself, since its copy is replaced first, and the key in the copy;
    ///   `nil` if neither file can be read, as under a mount that has the master key in memory.
    private func beginReplacement() throws(BackupError) -> Files? {
        let key: KeyFile
        do throws(BackupError) {
            key = try read()
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return nil
        }
        if !holds(key, layout.key) { try publish(key, to: layout.key) }
        return Files(key: key, copy: (try? read(layout.keyCopy)) ?? key)
    }

    /// - Returns: the error to report.
    private func putBack(_ old: Files, after error: BackupError) -> BackupError {
        do throws(BackupError) {
            // The file may have been renamed without its folder being durable.
            if !holds(old.key, layout.key) { try publish(old.key, to: layout.key) }
            // The copy may be the one that opened the repository.
            if old.copy != old.key, !holds(old.copy, layout.keyCopy) { try publish(old.copy, to: layout.keyCopy) }
        } catch {
            return error.with(
                nil, "it is not certain whether the password was changed: \(error.message)", path: layout.key,
                remedy:
                    "Keep both passwords. When the disk works again, see which one opens the repository, and run backupfs passwd again."
            )
        }
        // Otherwise the new password opens it, too; a check reports that.
        if !holds(old.copy, layout.keyCopy) { try? publish(old.copy, to: layout.keyCopy) }
        return error.with(nil, "the password has not been changed: \(error.message)")
    }

    private func holds(_ key: KeyFile, _ path: String) -> Bool { (try? read(path)) == key }

    // MARK: Damage

    /// - Returns: `nil` for a file that is missing or damaged. A file of a later version is neither.
    private func whole(_ path: String) throws(BackupError) -> KeyFile? {
        do throws(BackupError) {
            return try read(path)
        } catch {
            guard error.code != .unsupportedVersion else { throw error }
            return nil
        }
    }

    /// What is wrong with the files, if anything.
    func damage() -> BackupError? {
        if let path = damagedPath() {
            return BackupError(
                .repositoryDamaged, "this one of the key file and its copy is missing or damaged; the other is whole", path: path,
                remedy: "Make both equal with: backupfs check --repair")
        }
        guard let key = try? read(layout.key), let copy = try? read(layout.keyCopy), key != copy else { return nil }
        return BackupError(
            .repositoryDamaged, "the key file and its copy differ, so two passwords may open the repository",
            path: layout.keyCopy,
            remedy: "Open it with the password that is to count, and set it again with: backupfs passwd")
    }

    /// The missing or damaged file, when the other one is whole.
    private func damagedPath() -> String? {
        do throws(BackupError) {
            let isKeyWhole = try whole(layout.key) != nil
            guard try isKeyWhole != (whole(layout.keyCopy) != nil) else { return nil }
            return isKeyWhole ? layout.keyCopy : layout.key
        } catch {
            return nil
        }
    }

    /// Replaces a missing or damaged file by the other, whole one. If both are whole but differ, neither is replaced: the right
    /// password is unknown.
    /// - Returns: whether a file was replaced.
    func repair() throws(BackupError) -> Bool {
        guard damagedPath() != nil else { return false }
        let lock = try WaitingLock.acquire(path: layout.namesLock)
        defer { withExtendedLifetime(lock) {} }
        // Checked again: another process may just have set another password.
        guard let path = damagedPath() else { return false }
        try publish(try read(), to: path)
        return true
    }
}
