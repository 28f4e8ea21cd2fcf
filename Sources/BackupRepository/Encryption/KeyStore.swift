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

    /// Puts a key file in place, durably, and then its copy. A crash leaves the old key or the new one, and both open the repository, each with
    /// its own password: until the copy is replaced as well, the file itself counts.
    func publish(_ key: KeyFile) throws(BackupError) {
        let bytes = key.encode()
        try OwnerOnly.publish(bytes, to: layout.key, temporaryFolder: layout.temporary)
        try FaultInjection.reached("password.key-replaced")
        try OwnerOnly.publish(bytes, to: layout.keyCopy, temporaryFolder: layout.temporary)
    }

    /// Makes both files equal again after a crash or damage. Nothing happens where nothing can be written.
    func repair() {
        guard let key = try? read(), !isCopied(key), let lock = try? WaitingLock.acquire(path: layout.namesLock) else { return }
        withExtendedLifetime(lock) {
            // Read again: somebody may have set another password just now.
            guard let key = try? read(), !isCopied(key) else { return }
            try? publish(key)
        }
    }

    private func isCopied(_ key: KeyFile) -> Bool { (try? read(layout.key)) == key && (try? read(layout.keyCopy)) == key }
}
