import BackupCore
import SystemIO

/// Removes packs that nothing needs, for the holder of the writer's lock.
///
/// On storage that other hosts share, a holder may sleep between the question whether it still holds the lock and the unlink, and another host may
/// back up in that time and rely on the pack. So there a pack first leaves its place for `tmp/`, in one step that can be undone, and is unlinked
/// when the lock is found held after that: a host that takes the lock later has not seen the pack. On storage of this machine the kernel keeps the
/// lock of a process that sleeps.
struct PackRemoval {
    private let temporaryFolder: String
    private let isShared: Bool

    /// - Parameters:
    ///   - packsFolder: where the packs lie.
    ///   - temporaryFolder: on the same file system.
    init(packsFolder: String, temporaryFolder: String) {
        self.temporaryFolder = temporaryFolder
        isShared = (try? FileSystem.isShared(packsFolder)) ?? true
    }

    init(_ layout: RepositoryLayout) { self.init(packsFolder: layout.packs, temporaryFolder: layout.temporary) }

    /// Nothing happens when the pack is not there.
    /// - Parameters:
    ///   - inPlace: whether it is unlinked where it lies on shared storage as well: for one pack on a full disk where nothing else makes room for
    ///     names in `tmp/`. A holder that sleeps right before that does harm.
    ///   - requireHeld: whether the lock is still held; when it throws, the pack stays.
    /// - Throws: `noSpace` when `tmp/` has no room for the name: the pack stays, too.
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

    /// Moves a pack back whose removal was interrupted: another host may have relied on it before it left its place.
    /// - Parameter name: of a file in `tmp/`.
    /// - Returns: false for a file that is no such pack.
    static func bringBack(_ name: FileName, _ layout: RepositoryLayout) throws(BackupError) -> Bool {
        guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.packExtension) else { return false }
        let pack = PackID(digest)
        try OwnerOnly.makeFolder(RepositoryLayout.packFolder(of: pack, in: layout.packs))
        try FileSystem.rename("\(layout.temporary)/\(name)", to: layout.packPath(of: pack))
        return true
    }
}
