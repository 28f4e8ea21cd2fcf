import AppData
import BackupCore
import BackupRepository
import Export

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
    static func layoutForRestore(of snapshot: Snapshot) -> ArchivePathMap {
        let layout = snapshot.record.archiveLayout.including(["export.json", "media/"])
        // Manifests with file names give the places in the app's own archive.
        return snapshot.record.attributes[Snapshot.archiveNamesAttribute] == nil ? layout.withoutNestedTargets : layout
    }

    /// The names of its media files in its archives.
    static func names(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> ArchiveNames {
        guard let naming = snapshot.record.attributes[Snapshot.archiveNamesAttribute].flatMap({ ManifestNaming($0) }) else {
            return .none
        }
        return try ManifestNaming.names(naming, root: repository.rootDirectory(of: snapshot), in: repository)
    }
}

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

/// The place where an export records the names of media files in the app's archive: a collection of the export. Stored with each snapshot, so its archive
/// stays the same whatever happens to the definition.
struct ManifestNaming: Sendable {
    let collection: String
    /// The members with the path of a file in records, and with its path in the archive.
    let recordPathField: String
    let archivePathField: String
    /// The name of the media folder in records.
    let folder: String

    /// - Returns: `nil` for an app whose archive uses the media files' own paths.
    init?(_ definition: AppDefinition) {
        guard definition.media?.archiveNaming == .keyed, let pointer = MediaPointer(definition) else { return nil }
        for each in definition.collections where each.source == .manifest {
            func field(_ value: MediaValue) -> String? { each.fields.first { $0.mediaValue == value }?.name }
            guard let recordPath = field(.recordPath), let archivePath = field(.archivePath) else { continue }
            collection = each.name
            recordPathField = recordPath
            archivePathField = archivePath
            folder = pointer.folder
            return
        }
        return nil
    }

    /// - Parameter text: in the form of `text`.
    init?(_ text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4 else { return nil }
        (collection, recordPathField, archivePathField, folder) = (parts[0], parts[1], parts[2], parts[3])
    }

    var text: String { [collection, recordPathField, archivePathField, folder].joined(separator: "\n") }

    /// The names of a snapshot's media files; empty without such a collection.
    static func names(
        _ naming: ManifestNaming?, root: Directory, in repository: Repository
    ) throws(BackupError) -> ArchiveNames {
        guard let naming, let media = root.entry(named: "media")?.storedDirectory,
            let data = root.entry(named: "data"), data.kind == .directory,
            let entry = try repository.directory(of: data).entry(named: FileName("\(naming.collection).json"))
        else { return .none }
        let catalog = StoredMediaCatalog(media, in: repository)
        return try naming.names(in: StoredSource(repository.extents(of: entry.content), in: repository), catalog)
    }

    /// Whether a file in the archive has a name longer than file names can be.
    func hasLongNames(in source: any ByteSource) throws(BackupError) -> Bool {
        var isFound = false
        try ManifestMembers.forEach(in: source, recordPathField, archivePathField) { (_, archivePath) throws(BackupError) in
            if BytePath.lastComponent(of: archivePath).count > FileName.byteCountLimit { isFound = true }
        }
        return isFound
    }

    /// - Parameter source: the collection, in the form of `data/NAME.json`.
    func names(in source: any ByteSource, _ catalog: any MediaCatalog) throws(BackupError) -> ArchiveNames {
        var named: [[UInt8]: [[UInt8]]] = [:]
        try ManifestMembers.forEach(in: source, recordPathField, archivePathField) {
            (recordPath, archivePath) throws(BackupError) in
            for path in MediaPointer.paths(recordPath, folder: folder) where try catalog.file(at: path) != nil {
                named[Array("media/".utf8) + path, default: []].append(archivePath)
                break
            }
        }
        return ArchiveNames(named, listsFilledFolders: false)
    }
}
