import BackupCore
import SystemIO

/// Removes packs that are not needed; the caller holds the writer's lock.
///
/// On storage shared with other hosts, the holder may be suspended between verifying the lock and the unlink. In that time another host may make a backup that
/// relies on the pack. So on such storage a pack is first renamed to `tmp/`, which can be undone, and unlinked only if the lock is still held after that: a
/// host that takes the lock later has not seen the pack. On local storage the kernel keeps the lock of a suspended process.
struct PackRemoval {
    private let temporaryFolder: String
    private let isShared: Bool

    /// - Parameters:
    ///   - packsFolder: the folder with the packs.
    ///   - temporaryFolder: on the same file system.
    init(packsFolder: String, temporaryFolder: String) {
        self.temporaryFolder = temporaryFolder
        isShared = (try? FileSystem.isShared(packsFolder)) ?? true
    }

    init(_ layout: RepositoryLayout) { self.init(packsFolder: layout.packs, temporaryFolder: layout.temporary) }

    /// A no-op when the pack does not exist.
    /// - Parameters:
    ///   - inPlace: whether to unlink it directly on shared storage, too: for a single pack on a full disk without space for names in `tmp/`. A holder that is
    ///     suspended right before that does harm.
    ///   - requireHeld: verifies that the lock is still held; when it throws, the pack stays.
    /// - Throws: `noSpace` when `tmp/` has no space for the name; the pack stays then, too.
    func remove(
        _ path: String, inPlace: Bool = false, requireHeld: () throws(BackupError) -> Void
    ) throws(BackupError) {
        try requireHeld()
        guard isShared, !inPlace else { return try FileSystem.removeFile(path) }
        let aside = "\(temporaryFolder)/\(FileSystem.lastComponent(path))"
        do throws(BackupError) {
            try FileSystem.rename(path, to: aside)
        } catch {
            guard error.code == .notFound, try !FileSystem.exists(path) else { throw error }
            return
        }
        do throws(BackupError) {
            try requireHeld()
        } catch {
            // The new holder may have moved it back already.
            try? FileSystem.rename(aside, to: path)
            throw error
        }
        try FileSystem.removeFile(aside)
    }

    /// Moves back a pack whose removal was interrupted: another host may have relied on it before it was moved.
    /// - Parameter name: of a file in `tmp/`.
    /// - Returns: false for a file that is not such a pack.
    static func bringBack(_ name: FileName, _ layout: RepositoryLayout) throws(BackupError) -> Bool {
        guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.packExtension) else { return false }
        let pack = PackID(digest)
        try OwnerOnly.makeFolder(RepositoryLayout.packFolder(of: pack, in: layout.packs))
        try FileSystem.rename("\(layout.temporary)/\(name)", to: layout.packPath(of: pack))
        return true
    }
}
