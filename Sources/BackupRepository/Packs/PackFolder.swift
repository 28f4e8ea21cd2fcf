import BackupCore
import SystemIO

/// The existing pack files.
enum PackFolder {
    /// Every pack's length in bytes. Files with other names are ignored.
    static func list(_ layout: RepositoryLayout) throws(BackupError) -> [PackID: UInt64] {
        var packs: [PackID: UInt64] = [:]
        try visit(layout) { (pack, name, folder) throws(BackupError) in
            // It may have been removed since the folder was listed.
            if let status = try folder.statusIfPresent(name), status.kind == .regular { packs[pack] = status.size }
        }
        return packs
    }

    /// Every pack, without a stat(2) of the files: for a hundred thousand of them that takes a while.
    static func names(_ layout: RepositoryLayout) throws(BackupError) -> Set<PackID> {
        var packs: Set<PackID> = []
        try visit(layout) { (pack, _, _) throws(BackupError) in packs.insert(pack) }
        return packs
    }

    private static func visit(
        _ layout: RepositoryLayout,
        _ body: (PackID, FileName, DirectoryHandle) throws(BackupError) -> Void
    ) throws(BackupError) {
        let root = try DirectoryHandle(path: layout.packs)
        for name in try root.names() where name.bytes.count == 2 {
            guard try root.status(name).kind == .directory else { continue }
            let folder = try root.openDirectory(name)
            for file in try folder.names() {
                guard let digest = RepositoryLayout.digest(in: file, extension: RepositoryLayout.packExtension) else { continue }
                try body(PackID(digest), file, folder)
            }
        }
    }
}

/// Shows whether packs may have been added or removed, at the cost of one stat(2) for each of their 256 folders.
struct PackFolderVersions: Sendable {
    private let stamps: [FolderVersion]

    init(_ layout: RepositoryLayout) throws(BackupError) {
        var stamps = [try FolderVersion(path: layout.packs)]
        for name in try DirectoryHandle(path: layout.packs).names() where name.bytes.count == 2 {
            stamps.append(try FolderVersion(path: "\(layout.packs)/\(name)"))
        }
        self.stamps = stamps
    }

    /// Whether the listing made when these stamps were taken was still valid when `later` was taken.
    func covers(_ later: PackFolderVersions) -> Bool {
        stamps.count == later.stamps.count && zip(stamps, later.stamps).allSatisfy { $0.covers($1) }
    }
}

/// Removes packs that are not needed; the caller holds the writer's lock.
///
/// On storage shared with other hosts, the holder may be suspended between verifying the lock and the unlink. In that time
/// another host may make a backup that relies on the pack. So on such storage a pack is first renamed to `tmp/`, which can be
/// undone, and unlinked only if the lock is still held after that: a host that takes the lock later has not seen the pack. On
/// local storage the kernel keeps the lock of a suspended process.
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
    ///   - inPlace: whether to unlink it directly on shared storage, too: for a single pack on a full disk without space for
    ///     names in `tmp/`. A holder that is
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
        try PrivateFile.makeFolder(RepositoryLayout.packFolder(of: pack, in: layout.packs))
        try FileSystem.rename("\(layout.temporary)/\(name)", to: layout.packPath(of: pack))
        return true
    }
}

/// Existing packs that a new snapshot or a prune relies on.
enum ReferencedPacks {
    /// Verifies that they exist, and that they survive a power cut. The process that wrote one may have died between the rename
    /// and the fsync of its folder: the pack is visible then and treated as stored, but its name may still be lost. The same
    /// holds for the names in the repository's own folder. For folders that are already durable, an fsync costs almost nothing.
    /// - Parameter durable: packs for which this was called before; of these it only verifies that they exist.
    /// - Throws: `repositoryDamaged` when one has vanished.
    static func makeDurable(
        _ packs: Set<PackID>, besides durable: Set<PackID> = [], layout: RepositoryLayout
    ) throws(BackupError) {
        let changed = layout.upstream == nil ? packs.subtracting(durable) : []
        for folder in Set(changed.map { RepositoryLayout.packFolder(of: $0, in: layout.packs) }) {
            if try FileSystem.exists(folder) { try FileSystem.synchronizeDirectory(folder) }
        }
        try layout.synchronize(layout.packs)
        try layout.synchronize(layout.path)
        for pack in packs {
            if try layout.hasPack(pack) { continue }
            throw BackupError(
                .repositoryDamaged, "a pack that is needed vanished meanwhile",
                path: layout.packPath(of: pack), remedy: "Run a backup: it stores the missing data again.")
        }
    }
}
