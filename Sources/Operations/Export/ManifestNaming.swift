import AppData
import BackupCore
import BackupRepository
import Export

/// Where it is written what an app's media files are called in its archive: in a collection of the export. Kept with each snapshot, whose
/// archive stays the same whatever becomes of the definition.
struct ManifestNaming: Sendable {
    let collection: String
    /// The member with what a record calls its file, and that with its path in the archive.
    let recordPathField: String
    let archivePathField: String
    /// The media folder, as records have it.
    let folder: String

    /// - Returns: `nil` for an app whose media are called as they lie.
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

    /// - Parameter text: as `text` has it.
    init?(_ text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4 else { return nil }
        (collection, recordPathField, archivePathField, folder) = (parts[0], parts[1], parts[2], parts[3])
    }

    var text: String { [collection, recordPathField, archivePathField, folder].joined(separator: "\n") }

    /// The names of a snapshot's media files; of one without such a collection there are none.
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

    /// Whether a file of the archive has a name that is longer than a file's can be.
    func hasLongNames(in source: any ByteSource) throws(BackupError) -> Bool {
        var isFound = false
        try ManifestMembers.forEach(in: source, recordPathField, archivePathField) { (_, archivePath) throws(BackupError) in
            if BytePath.lastComponent(of: archivePath).count > FileName.byteCountLimit { isFound = true }
        }
        return isFound
    }

    /// - Parameter source: the collection, as `data/NAME.json` has it.
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
