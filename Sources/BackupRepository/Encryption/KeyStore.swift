import BackupCore
import SystemIO

/// The key file in its place, and a second copy beside it: one damaged sector must not cost every backup.
struct KeyStore {
    private let layout: RepositoryLayout
    private let repositoryID: String

    init(layout: RepositoryLayout, repositoryID: String) {
        self.layout = layout
        self.repositoryID = repositoryID
    }

    /// The key file; from its copy if the file itself is missing or damaged.
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

    private func read(_ path: String) throws(BackupError) -> KeyFile {
        do throws(BackupError) {
            let bytes = try FileSystem.readFile(path, limitBytes: KeyFile.byteCountLimit)
            return try KeyFile(decoding: bytes, repositoryID: repositoryID)
        } catch {
            throw error.at(path)
        }
    }

    private func publish(_ key: KeyFile, to path: String) throws(BackupError) {
        try OwnerOnly.publish(key.encode(), to: path, temporaryFolder: layout.temporary)
    }

    // MARK: Both files

    /// Makes both files of a new repository, durably.
    func create(_ key: KeyFile) throws(BackupError) {
        try publish(key, to: layout.keyCopy)
        try publish(key, to: layout.key)
    }

    /// Puts another key file in place, durably: the copy first, and then the file itself, which counts until then. So a crash leaves the old password or
    /// the new one, after an error the old one is valid, and after success nothing is left that the old one opens. For the holder of the lock on names.
    /// - Throws: what writing throws. Where even the old key cannot be put back, the message says that either password may be the right one.
    func replace(by key: KeyFile) throws(BackupError) {
        let old = try beginReplacement()
        do throws(BackupError) {
            try publish(key, to: layout.keyCopy)
            try FaultInjection.reached("password.copy-replaced")
            try publish(key, to: layout.key)
            try FaultInjection.reached("password.key-replaced")
        } catch {
            // Where there was no key file that could be read, the new one is all that there is.
            guard let old else { throw error }
            throw putBack(old, after: error)
        }
    }

    /// - Returns: the key that counts, which then is in the file itself, since its copy goes first; `nil` where neither file can be read, as under a mount
    ///   that has the master key in its memory.
    private func beginReplacement() throws(BackupError) -> KeyFile? {
        let old: KeyFile
        do throws(BackupError) {
            old = try read()
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return nil
        }
        if !holds(old, layout.key) { try publish(old, to: layout.key) }
        return old
    }

    /// - Returns: what to say of it.
    private func putBack(_ old: KeyFile, after error: BackupError) -> BackupError {
        do throws(BackupError) {
            // It may have been renamed, and only the folder not be durable.
            if !holds(old, layout.key) { try publish(old, to: layout.key) }
        } catch {
            return BackupError(
                error.code, "it is not certain whether the password was changed: \(error.message)", path: layout.key,
                remedy:
                    "Keep both passwords. When the disk works again, see which one opens the repository, and run backupfs passwd again."
            )
        }
        // Without that the next opening does it.
        if !holds(old, layout.keyCopy) { try? publish(old, to: layout.keyCopy) }
        return BackupError(
            error.code, "the password has not been changed: \(error.message)", path: error.path, remedy: error.remedy)
    }

    private func holds(_ key: KeyFile, _ path: String) -> Bool { (try? read(path)) == key }

    // MARK: Damage

    /// What is wrong with one of the files, if anything is: a copy that was left behind may be opened by an older password.
    func damage() -> BackupError? {
        guard let key = try? read() else { return nil }
        let path = holds(key, layout.key) ? layout.keyCopy : layout.key
        guard !holds(key, path) else { return nil }
        return BackupError(
            .repositoryDamaged, "the key file and its copy differ: an older password may open this one", path: path,
            remedy: "Make both equal with: backupfs check --repair")
    }

    /// Makes both files equal again after a crash or damage.
    func repair() throws(BackupError) {
        guard damage() != nil else { return }
        let lock = try WaitingLock.acquire(path: layout.namesLock)
        defer { withExtendedLifetime(lock) {} }
        // Read again: another process may have set another password just now.
        let key = try read()
        for path in [layout.key, layout.keyCopy] where !holds(key, path) { try publish(key, to: path) }
    }
}
