import BackupCore
import SystemIO

/// `damaged/` of a repository: holds files that a repair replaces, and files that cannot be saved.
struct DamagedFolder {
    let layout: RepositoryLayout
    /// Called before anything is moved or written; throws if the locks are no longer held.
    let requireHeld: () throws(BackupError) -> Void

    func path(of original: String) -> String { "\(layout.damaged)/\(FileSystem.lastComponent(original))" }

    /// Moves a file here, durably.
    func setAside(_ original: String) throws(BackupError) {
        try OwnerOnly.makeFolder(layout.damaged)
        try move(original, to: path(of: original))
    }

    /// Moves a file back to where it was, durably.
    func putBack(_ original: String) throws(BackupError) { try move(path(of: original), to: original) }

    private func move(_ old: String, to new: String) throws(BackupError) {
        try requireHeld()
        try FileSystem.rename(old, to: new)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(new))
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(old))
    }

    /// Keeps a copy of a file's previous contents.
    func keepCopy(_ bytes: [UInt8], of original: String) throws(BackupError) {
        try OwnerOnly.makeFolder(layout.damaged)
        try publish(bytes, to: path(of: original))
    }

    /// Replaces a file by a better one.
    func publish(_ bytes: [UInt8], to path: String, modificationTime: Timestamp? = nil) throws(BackupError) {
        try OwnerOnly.publish(
            bytes, to: path, temporaryFolder: layout.temporary, modificationTime: modificationTime, beforeRename: requireHeld)
    }
}
