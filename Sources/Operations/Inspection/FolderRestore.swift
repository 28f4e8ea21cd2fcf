import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// Writes a backup's files into a folder instead of into the app: `backupfs restore SNAP --target DIR`. Does not touch the app's
/// data.
public struct FolderRestore: Sendable {
    static let phase: Message = "Writing files..."
    /// Entries appear in the folder under their final names once everything is written.
    private static let stagingPrefix = ".backupfs-restore-"

    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Parameters:
    ///   - path: of the folder whose contents are written, or of the only file; empty for all of the backup.
    ///   - target: an empty folder, or one that does not exist and is created.
    /// - Returns: what was written, and what is missing because the repository could not deliver it.
    /// - Throws: `notEmpty`, `noSpace`, …; the folder is then empty, as before.
    public func run(
        _ snapshot: Snapshot, at path: [FileName] = [], to target: String, progress: ProgressHandler?
    ) throws(BackupError) -> ExtractionReport {
        try store.recorded(.extract) { (facts) throws(BackupError) in
            facts.snapshot = snapshot.name.description
            let report = try write(snapshot, path, target, progress)
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
        _ snapshot: Snapshot, _ path: [FileName], _ target: String, _ progress: ProgressHandler?
    ) throws(BackupError) -> ExtractionReport {
        let target = FileSystem.absolutePath(target)
        try requireUsable(target)
        let part = try store.repository.part(of: snapshot, at: path)
        let wasThere = try FileSystem.exists(target)
        if !wasThere { try FileSystem.makeDirectories(target) }
        do {
            return try fill(target, part, mediaOwner: snapshot.mediaOwner, progress)
        } catch {
            if !wasThere { rmdir(target) }
            throw error
        }
    }

    /// Whether a backup can be written there: the folder is empty and the disk has enough space.
    /// - Throws: `notEmpty`, `notADirectory`, `noSpace`.
    /// - Returns: the numbers of files and bytes.
    @discardableResult
    public func check(
        _ snapshot: Snapshot, at path: [FileName] = [], to target: String
    ) throws(BackupError) -> DirectoryTotals {
        let target = FileSystem.absolutePath(target)
        try requireUsable(target)
        var existing = target
        while try !FileSystem.exists(existing) { existing = FileSystem.parentPath(existing) }
        let contents = try store.repository.part(of: snapshot, at: path).contents
        try store.requireRoom(for: contents, at: existing)
        return contents.totals
    }

    /// Remains of an interrupted restore are allowed; they are removed later.
    private func requireUsable(_ target: String) throws(BackupError) {
        guard try FileSystem.exists(target) else { return }
        for name in try DirectoryHandle(path: target).names() where !WorkFolder.isOurs(name, prefix: Self.stagingPrefix) {
            throw BackupError(
                .notEmpty, "the folder holds something else: “\(name)”", path: target,
                remedy: "Name an empty folder, or one that is not there yet.")
        }
    }

    private func fill(
        _ target: String, _ part: SnapshotPart, mediaOwner: FileOwner?, _ progress: ProgressHandler?
    ) throws(BackupError) -> ExtractionReport {
        let root = try part.contents
        try WorkFolder.sweep(target, prefix: Self.stagingPrefix)
        try store.requireRoom(for: root, at: target)
        let staging = try WorkFolder(in: target, prefix: Self.stagingPrefix)
        defer { staging.remove() }
        let report = try store.repository.extract(
            root, into: staging.path, mediaOwner: mediaOwner, isInMedia: part.isInMedia, phase: Self.phase, progress: progress)
        let folder = try DirectoryHandle(path: target, followsLink: false)
        // One sync for all files and their folders, before the first entry moves into place.
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
        // The last block of each file and folder is only partly used.
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
    /// Checks that a whole backup can be written at `path`. If its size does not fit, subtracts its holes, which occupy no space.
    /// - Throws: `noSpace`.
    func requireRoom(for root: Directory, moreBytes: UInt64 = 0, at path: String) throws(BackupError) {
        do throws(BackupError) {
            try FolderRestore.requireRoom(for: root.totals, moreBytes: moreBytes, at: path)
        } catch {
            guard error.code == .noSpace else { throw error }
            var holes: UInt64 = 0
            var cursor = TreeCursor(root, in: repository)
            while let entry = try cursor.nextEntry() { holes = holes.addingSaturating(entry.metadata?.holeBytes ?? 0) }
            guard holes > 0 else { throw error }
            try FolderRestore.requireRoom(for: root.totals, moreBytes: moreBytes, lessBytes: holes, at: path)
        }
    }
}

extension DirectoryHandle {
    /// Moves a file or folder here from the folder that it was extracted into; nothing is there if it could not be extracted.
    fileprivate func takeOver(_ entry: TreeEntry, from folder: String) throws(BackupError) {
        let source = try DirectoryHandle(path: folder, followsLink: false)
        // A folder without write permission cannot be moved: “..” changes.
        if entry.kind == .directory { source.makeAccessible(entry.name) }
        do {
            try source.move(entry.name, to: self, as: entry.name)
        } catch let error where error.code == .notFound {}
        guard entry.kind == .directory else { return }
        try openDirectoryIfPresent(entry.name)?.finish(
            permissions: mode_t(entry.restoredPermissions), modificationTime: entry.modificationTime)
    }
}
