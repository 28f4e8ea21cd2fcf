import AppData
import BackupCore
import BackupRepository
import Formats

extension SnapshotArchive {
    /// The layout of a snapshot's archive as a table of extents.
    /// - Parameter layout: `nil` for the snapshot's own.
    /// - Throws: `repositoryDamaged`.
    public static func table(
        of snapshot: Snapshot, _ format: ArchiveFormat, layout: ArchivePathMap? = nil, in repository: Repository
    ) throws(BackupError) -> ExtentTable {
        let names = try names(of: snapshot, in: repository)
        let root = try repository.rootDirectory(of: snapshot)
        let layout = layout ?? snapshot.record.archiveLayout
        return try format.layout.table { (body) throws(BackupError) in
            try visit(root, layout: layout, time: snapshot.creationTime, in: repository, names: names, body)
        }
    }

    /// The archive layout for restoring a snapshot: its own, plus the records and the media, which a layout may leave out.
    package static func layoutForRestore(of snapshot: Snapshot) -> ArchivePathMap {
        let layout = snapshot.record.archiveLayout.including(["export.json", "media/"])
        // Manifests with file names give the places in the app's own archive.
        return snapshot.record.attributes[Snapshot.archiveNamesAttribute] == nil ? layout.withoutNestedTargets : layout
    }

    /// The names of its media files in its archives.
    package static func names(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> ArchiveNames {
        guard let naming = snapshot.record.attributes[Snapshot.archiveNamesAttribute].flatMap({ ManifestNaming($0) }) else {
            return .none
        }
        return try ManifestNaming.names(naming, root: repository.rootDirectory(of: snapshot), in: repository)
    }
}

/// Exact sizes of a backup's archives in bytes.
public struct ArchiveSizes {
    package let zip: UInt64
    package let tar: UInt64
    /// The number of members, the same in the ZIP and the tar archive.
    package let memberCount: UInt64

    /// Measures both in one walk of the folders.
    /// - Parameter root: the backup's root, whose chunks are all in the catalog.
    package init(
        of root: Directory, layout: ArchivePathMap, names: ArchiveNames, time: Timestamp, in repository: Repository
    ) throws(BackupError) {
        var zip = ZIPLayout.SizeCounter()
        var tar = TARLayout.SizeCounter()
        var memberCount: UInt64 = 0
        try SnapshotArchive.measure(root, layout: layout, time: time, in: repository, names: names) {
            (member, large) throws(BackupError) in
            if let large {
                var content = ZIPContentMeasure()
                try repository.visitPieces(of: large) { content.append($0) }
                try zip.append(member, content)
            } else {
                try zip.append(member)
            }
            try tar.append(member)
            memberCount += 1
        }
        self.memberCount = memberCount
        self.zip = zip.archivedSize
        self.tar = tar.archivedSize
    }

    /// The recorded size of one archive of a snapshot. Snapshots from before archive.tar existed lack its size: it is computed
    /// from their folders, without reading files or the catalog.
    public static func size(
        of snapshot: Snapshot, _ format: ArchiveFormat, in repository: Repository
    ) throws(BackupError) -> UInt64 {
        switch format {
        case .zip: return snapshot.record.archiveSizeBytes
        case .tar:
            if let known = snapshot.tarSizeBytes(layoutVersion: TARLayout.version) { return known }
            var tar = TARLayout.SizeCounter()
            let names = try SnapshotArchive.names(of: snapshot, in: repository)
            try SnapshotArchive.visit(snapshot, in: repository, detail: .sizes, names: names) { (member) throws(BackupError) in
                try tar.append(member)
            }
            return tar.archivedSize
        }
    }
}
