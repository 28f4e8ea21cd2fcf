import AppData
import BackupCore
import BackupRepository
import Formats

/// The place where an export records the names of media files in the app's archive: a collection of the export. Stored with each
/// snapshot, so its archive stays the same whatever happens to the definition.
package struct ManifestNaming: Sendable {
    package let collection: String
    /// The members with the path of a file in records, and with its path in the archive.
    let recordPathField: String
    let archivePathField: String
    /// The name of the media folder in records.
    let folder: String

    /// - Returns: `nil` for an app whose archive uses the media files' own paths.
    package init?(_ definition: AppDefinition) {
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
    package init?(_ text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4 else { return nil }
        (collection, recordPathField, archivePathField, folder) = (parts[0], parts[1], parts[2], parts[3])
    }

    package var text: String { [collection, recordPathField, archivePathField, folder].joined(separator: "\n") }

    /// The names of a snapshot's media files; empty without such a collection.
    package static func names(
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
    package func hasLongNames(in source: any ByteSource) throws(BackupError) -> Bool {
        var isFound = false
        try ManifestMembers.forEach(in: source, recordPathField, archivePathField) { (_, archivePath) throws(BackupError) in
            if BytePath.lastComponent(of: archivePath).count > FileName.byteCountLimit { isFound = true }
        }
        return isFound
    }

    /// - Parameter source: the collection, in the form of `data/NAME.json`.
    package func names(in source: any ByteSource, _ catalog: any MediaCatalog) throws(BackupError) -> ArchiveNames {
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
