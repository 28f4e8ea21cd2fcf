import BackupCore
import ObjectStorage
import SystemIO

/// The object storage that keeps a repository whose folder on this machine is only a cache of it. Each change is made there
/// first, and in the folder when the storage has confirmed it: a reader of the folder never sees what is not in the storage.
///
/// After an error, the change may have been made in the storage all the same; the next refresh shows it.
protocol RepositoryUpstream: PackSource {
    /// For the notes of lock holders.
    var storage: any ObjectStorage { get }

    /// Creates a small object, or replaces the one that the cached file shows.
    /// - Parameter path: of the file in the cache, which is not written.
    /// - Throws: `conflict` when the storage has neither this object nor the cached one; errors of the storage.
    func store(_ bytes: [UInt8], as path: String) throws(BackupError)

    /// Removes an object; a no-op when there is none.
    /// - Parameter path: of the file in the cache, which stays.
    func remove(_ path: String) throws(BackupError)

    /// Moves a record in the storage and in the cache; a no-op when there is none.
    /// - Throws: `conflict` when the cached file is not what the storage has; it is read again then.
    func moveRecord(_ path: String, to new: String) throws(BackupError)

    /// Stores a pack and moves its file into the cache.
    /// - Parameter file: the complete pack.
    /// - Returns: false when the storage had the pack already.
    func add(_ id: PackID, from file: String) throws(BackupError) -> Bool

    /// Removes a pack from the storage and from the cache; a no-op when there is none.
    func removePack(_ id: PackID) throws(BackupError)

    /// Whether the storage has the pack.
    func has(_ id: PackID) throws(BackupError) -> Bool

    /// Moves a pack to `damaged/` in the storage.
    func setAside(_ id: PackID) throws(BackupError)

    /// Stores copies of the indexes of all packs that are in no batch yet. Called before each record that needs new packs, so
    /// that other machines find them without listing packs, and without reading each of them.
    /// - Parameters:
    ///   - isCompacting: whether batches that name many packs that are gone are replaced, too.
    ///   - requireHeld: verifies that the lock of a writer is still held.
    func storeIndexes(
        isCompacting: Bool, requireHeld: () throws(BackupError) -> Void
    ) throws(BackupError)

    /// Whether the next call of `storeIndexes` takes about one short request. It is long after a backup that has ended before it
    /// stored any, and when it replaces many small batches by a large one.
    var storesIndexesSoon: Bool { get }

    /// Brings the cache in line with the storage.
    func refresh(_ scope: RefreshScope) throws(BackupError)

    /// The same on another thread, unless the last refresh has just been. Errors are ignored: the cache shows what is known.
    func refreshInBackground()
}

/// What a refresh of a cache looks at.
enum RefreshScope {
    case everything
    /// Everything, for a check: records that are known from batches alone are read, too.
    case verification
    /// All but packs. Those of a new record are known from batches of indexes; without any, the packs are listed as well.
    case records
}

// MARK: - Changes

extension RepositoryLayout {
    /// Replaces a small file atomically and durably, and before that its object, if the repository is kept elsewhere.
    /// - Parameter beforeRename: called just before it gets its name.
    func publish(
        _ bytes: [UInt8], to path: String, modificationTime: Timestamp? = nil,
        beforeRename: () throws(BackupError) -> Void = {}
    ) throws(BackupError) {
        guard let upstream else {
            return try PrivateFile.publish(
                bytes, to: path, temporaryFolder: temporary, modificationTime: modificationTime, beforeRename: beforeRename)
        }
        try beforeRename()
        try upstream.store(bytes, as: path)
        try PrivateFile.makeFolder(FileSystem.parentPath(path))
        try PrivateFile.publish(
            bytes, to: path, temporaryFolder: temporary, modificationTime: modificationTime, isDurable: false)
    }

    /// Removes a file; a no-op when it does not exist.
    func remove(_ path: String) throws(BackupError) {
        try upstream?.remove(path)
        try FileSystem.removeFile(path)
    }

    /// Makes the names in a folder durable. An object storage has done that with each change.
    func synchronize(_ folder: String) throws(BackupError) {
        if upstream == nil { try FileSystem.synchronizeDirectory(folder) }
    }

    /// Notes in an object storage that backups are made there, so that no other machine takes it for a place of copies.
    func markAsPrimary() throws(BackupError) {
        guard upstream != nil, try !FileSystem.exists(primaryMark) else { return }
        try publish(Array("Machines make backups in this repository.\n".utf8), to: primaryMark)
    }

    /// Whether the repository has a pack.
    func hasPack(_ id: PackID) throws(BackupError) -> Bool {
        if try FileSystem.exists(packPath(of: id)) { return true }
        return try upstream?.has(id) ?? false
    }
}
