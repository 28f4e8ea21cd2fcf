import BackupCore
import SystemIO

/// Cleaning up after crashes.
extension SnapshotStore {
    /// Removes what crashes left: labels of snapshots that are certainly gone and cannot be undeleted, and all temporary files
    /// except packs whose removal was interrupted. The caller must hold the writer's lock, since packs are written in the same
    /// folder.
    /// - Parameter requireHeld: called before each removal; throws if the writer's lock is no longer held.
    func sweep(requireHeld: () throws(BackupError) -> Void) throws(BackupError) {
        guard layout.upstream != nil else {
            let lock = try NamesLock(layout)
            defer { withExtendedLifetime(lock) {} }
            try sweepLabels(requireHeld, lock)
            return try sweepTemporary(requireHeld)
        }
        // In an object storage, the lock costs requests, and there is mostly nothing to remove.
        if try !uselessLabels().isEmpty {
            let lock = try NamesLock(layout)
            defer { withExtendedLifetime(lock) {} }
            try sweepLabels(requireHeld, lock)
        }
        // Temporary files are those of this machine. While another process changes names here, they stay.
        do throws(BackupError) {
            let lock = try AdvisoryLock(path: layout.namesLock)
            defer { withExtendedLifetime(lock) {} }
            try sweepTemporary(requireHeld)
        } catch {
            guard error.code == .busy else { throw error }
        }
    }

    private func sweepLabels(
        _ requireHeld: () throws(BackupError) -> Void, _ lock: borrowing NamesLock
    ) throws(BackupError) {
        for id in try uselessLabels() {
            try requireHeld()
            try lock.requireHeld()
            do throws(BackupError) {
                try layout.remove(layout.labelPath(of: id))
            } catch {
                // With credentials that may only add, another machine removes it.
                guard layout.upstream != nil, error.code == .accessDenied else { throw error }
                break
            }
        }
    }

    private func sweepTemporary(_ requireHeld: () throws(BackupError) -> Void) throws(BackupError) {
        let folder = try openTemporary()
        for name in try folder.names() {
            try requireHeld()
            if try PackRemoval.bringBack(name, layout) { continue }
            guard Self.isTemporary(name), try folder.status(name).kind == .regular else { continue }
            try folder.remove(name, isDirectory: false)
        }
    }

    /// Does not follow a link: with a link in its place, another program could have the files of any folder removed.
    /// - Throws: `notPermitted` for a link.
    private func openTemporary() throws(BackupError) -> DirectoryHandle {
        guard try FileSystem.status(layout.temporary).kind != .symbolicLink else {
            throw BackupError(
                .notPermitted, "the repository's folder for temporary files is a symbolic link", path: layout.temporary,
                remedy: "Remove the link, and make an empty folder in its place.")
        }
        return try DirectoryHandle(path: layout.temporary, followsLink: false)
    }

    /// Whether this program creates temporary files with such names: a random token, with or without an extension. Other programs
    /// created all other files.
    private static func isTemporary(_ name: FileName) -> Bool {
        RandomToken.isToken(name.bytes.prefix { $0 != UInt8(ascii: ".") })
    }

    /// Labels of snapshots that have no record and are not in the register. If the register names a snapshot, it may be copied
    /// back, with its name, pin and tags. Without a register nothing is known, and an unneeded label only takes a few bytes.
    private func uselessLabels() throws(BackupError) -> [SnapshotID] {
        guard let register = try? readRegister() else { return [] }
        var useless: [SnapshotID] = []
        for name in try DirectoryHandle(path: layout.labels).names() {
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
