import BackupCore
import SystemIO

/// Tidying up after crashes.
extension SnapshotStore {
    /// Removes what crashes left: labels of snapshots that are known to be gone and cannot be brought back, and all temporary files
    /// but packs that were being removed. Only for the holder of the writer's lock, since packs are written in the same folder.
    /// - Parameter requireHeld: whether the writer's lock is still held, asked before anything is removed; throws if not.
    func sweep(requireHeld: () throws(BackupError) -> Void) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        for id in try uselessLabels() {
            try requireHeld()
            try lock.requireHeld()
            try FileSystem.removeFile(layout.labelPath(of: id))
        }
        let folder = try openTemporary()
        for name in try folder.names() {
            try requireHeld()
            if try PackRemoval.bringBack(name, layout) { continue }
            guard Self.isTemporary(name), try folder.status(name).kind == .regular else { continue }
            try folder.remove(name, isDirectory: false)
        }
    }

    /// A link in its place would have the files of any folder removed that another program can name.
    /// - Throws: `notPermitted` for a link.
    private func openTemporary() throws(BackupError) -> DirectoryReader {
        guard try FileSystem.status(layout.temporary).kind != .symbolicLink else {
            throw BackupError(
                .notPermitted, "the repository's folder for temporary files is a symbolic link", path: layout.temporary,
                remedy: "Remove the link, and make an empty folder in its place.")
        }
        return try DirectoryReader(path: layout.temporary, followsLink: false)
    }

    /// Whether this program makes temporary files of such names: a random token, with an ending or without. Everything else was put there by others.
    private static func isTemporary(_ name: FileName) -> Bool {
        RandomToken.isToken(name.bytes.prefix { $0 != UInt8(ascii: ".") })
    }

    /// Labels of snapshots that have no record and that the register does not name. One that it names may be copied back, with its name, pin and tags;
    /// and without a register nothing is known: a label that is not needed costs a few bytes.
    private func uselessLabels() throws(BackupError) -> [SnapshotID] {
        guard let register = try? readRegister() else { return [] }
        var useless: [SnapshotID] = []
        for name in try DirectoryReader(path: layout.labels).names() {
            guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.labelExtension) else { continue }
            let id = SnapshotID(digest)
            guard register.isLabelled[id] == nil else { continue }
            let records = [layout.snapshotPath(of: id), layout.removedPath(of: id), layout.damagedRecordPath(of: id)]
            var hasRecord = false
            for record in records where try FileSystem.exists(record) { hasRecord = true }
            if !hasRecord { useless.append(id) }
        }
        return useless
    }
}
