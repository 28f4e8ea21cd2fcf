import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// Writes a backup's files into a folder, for whoever wants them and not the app: `backupfs restore SNAP --target DIR`. The app's data is left alone.
public struct FolderRestore: Sendable {
    static let phase: Message = "Writing files..."
    /// What is written appears in the folder under its name when all of it is there.
    private static let stagingPrefix = ".backupfs-restore-"

    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Parameters:
    ///   - target: a folder that is empty, or is not there and is made.
    /// - Returns: what was written, and what could not be read from the repository and is not there.
    /// - Throws: `notEmpty`, `noSpace`, …: the folder is empty then, as it was.
    public func run(
        _ snapshot: Snapshot, to target: String, progress: ProgressHandler?
    ) throws(BackupError) -> ExtractionReport {
        try store.recorded(.extract) { (facts) throws(BackupError) in
            facts.snapshot = snapshot.name.description
            let report = try write(snapshot, target, progress)
            facts.sizeBytes = report.byteCount
            facts.fileCount = report.fileCount
            if report.failureCount > 0 {
                facts.result = .failed
                facts.error = .repositoryDamaged
                facts.fileKind = .repository
                facts.unreadableCount = report.failureCount
            }
            return report
        }
    }

    private func write(
        _ snapshot: Snapshot, _ target: String, _ progress: ProgressHandler?
    ) throws(BackupError) -> ExtractionReport {
        let target = FileSystem.absolutePath(target)
        try requireUsable(target)
        let root = try store.repository.rootDirectory(of: snapshot)
        let wasThere = try FileSystem.exists(target)
        if !wasThere { try FileSystem.makeDirectories(target) }
        do {
            return try fill(target, root, mediaOwner: snapshot.mediaOwner, progress)
        } catch {
            if !wasThere { rmdir(target) }
            throw error
        }
    }

    /// Whether a backup could be written there: the folder is empty, and the disk has room.
    /// - Throws: `notEmpty`, `notADirectory`, `noSpace`.
    public func check(_ snapshot: Snapshot, to target: String) throws(BackupError) {
        let target = FileSystem.absolutePath(target)
        try requireUsable(target)
        var existing = target
        while try !FileSystem.exists(existing) { existing = FileSystem.parentPath(existing) }
        try store.requireRoom(for: store.repository.rootDirectory(of: snapshot), at: existing)
    }

    /// What an interrupted restore left may be there; it is removed later.
    private func requireUsable(_ target: String) throws(BackupError) {
        guard try FileSystem.exists(target) else { return }
        for name in try DirectoryReader(path: target).names() where !WorkFolder.isOurs(name, prefix: Self.stagingPrefix) {
            throw BackupError(
                .notEmpty, "the folder holds something else: “\(name)”", path: target,
                remedy: "Name an empty folder, or one that is not there yet.")
        }
    }

    private func fill(
        _ target: String, _ root: Directory, mediaOwner: FileOwner?, _ progress: ProgressHandler?
    ) throws(BackupError) -> ExtractionReport {
        try WorkFolder.sweep(target, prefix: Self.stagingPrefix)
        try store.requireRoom(for: root, at: target)
        let staging = try WorkFolder(in: target, prefix: Self.stagingPrefix)
        defer { staging.remove() }
        let report = try store.repository.extract(
            root, into: staging.path, mediaOwner: mediaOwner, phase: Self.phase, progress: progress)
        let folder = try FolderHandle(path: target)
        // One wait for all files, and their names' folders, before the first of them gets its place.
        try FileSystem.synchronizeTree(staging.path)
        for entry in root.entries { try folder.takeOver(entry, from: staging.path) }
        try FileSystem.synchronizeDirectory(target)
        return report
    }

    static func requireRoom(
        for totals: DirectoryTotals, moreBytes: UInt64 = 0, lessBytes: UInt64 = 0, at path: String
    ) throws(BackupError) {
        let space = try FileSystem.space(at: path)
        let block = max(1, space.blockSizeBytes)
        // Each file and folder ends somewhere in a block.
        let entryCount = totals.fileCount.addingSaturating(totals.directoryCount).addingSaturating(totals.symbolicLinkCount)
        let byteCount = totals.byteCount - min(lessBytes, totals.byteCount)
        let needed = byteCount.addingSaturating(moreBytes).addingSaturating(entryCount.multipliedSaturating(by: block))
        guard space.availableBytes >= needed else {
            throw BackupError(
                .noSpace, "the files need \(needed) bytes and there are \(space.availableBytes)", path: path,
                remedy: "Free some space and try again; nothing was changed.")
        }
    }
}

extension Store {
    /// Whether all of a backup can be written at `path`. Where its size says that it cannot, its holes are counted, which take no room.
    /// - Throws: `noSpace`.
    func requireRoom(for root: Directory, moreBytes: UInt64 = 0, at path: String) throws(BackupError) {
        do throws(BackupError) {
            try FolderRestore.requireRoom(for: root.totals, moreBytes: moreBytes, at: path)
        } catch {
            guard error.code == .noSpace else { throw error }
            let holes = try holeBytes(in: root)
            guard holes > 0 else { throw error }
            try FolderRestore.requireRoom(for: root.totals, moreBytes: moreBytes, lessBytes: holes, at: path)
        }
    }

    private func holeBytes(in directory: Directory) throws(BackupError) -> UInt64 {
        var sum: UInt64 = 0
        for entry in directory.entries {
            sum = sum.addingSaturating(entry.metadata?.holeBytes ?? 0)
            if entry.kind == .directory { sum = sum.addingSaturating(try holeBytes(in: repository.directory(of: entry))) }
        }
        return sum
    }
}

extension FolderHandle {
    /// Moves a file or folder here from the folder it was extracted into; what could not be extracted is not there.
    fileprivate func takeOver(_ entry: TreeEntry, from folder: String) throws(BackupError) {
        let source = try FolderHandle(path: folder)
        // A folder that may not be written to cannot be moved: “..” changes.
        try source.move(entry.name, to: self, isFolder: entry.kind == .directory)
        guard entry.kind == .directory else { return }
        try open(entry.name)?.finish(permissions: mode_t(entry.restoredPermissions), modificationTime: entry.modificationTime)
    }
}
