import BackupCore
import BackupRepository
import Export

/// Exact sizes of a backup's archives in bytes.
public struct ArchiveSizes {
    let zip: UInt64
    let tar: UInt64
    /// The number of members, the same in the ZIP and the tar archive.
    let memberCount: UInt64

    /// Measures both in one walk of the folders.
    /// - Parameter root: the backup's root, whose chunks are all in the catalog.
    init(
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

    /// The recorded size of one archive of a snapshot. Snapshots from before archive.tar existed lack its size: it is computed from their folders, without
    /// reading files or the catalog.
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
