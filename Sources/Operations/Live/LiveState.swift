import AppData
import BackupCore
import BackupRepository
import SnapshotFormats
import Synchronization
import SystemIO

/// The files of `live/` for one rendering. Media files come from the folder itself, in its current state.
final class LiveState: LiveView {
    let rendering: AppRendering
    let mediaView: LiveMediaView?
    let checksums: LiveChecksums
    /// Maps path prefixes to those in the app's own archives.
    let archiveLayout: ArchivePathMap
    let restores: RestoreWatch
    private let media: (any MediaCatalog)?
    private let archiveExport: ArchiveExport?
    /// Checksums of the rendered files, by path.
    private let rendered = Mutex<[[FileName]: Checksums]>([:])

    init(rendering: AppRendering, mediaView: LiveMediaView?, checksums: LiveChecksums, of store: Store, _ restores: RestoreWatch)
    {
        self.restores = restores
        archiveLayout = store.definition.archiveLayout
        media = store.database.media
        self.rendering = rendering
        self.mediaView = mediaView
        archiveExport =
            mediaView.flatMap { view in
                rendering.placeholderExport.map { ArchiveExport($0.text, $0.placeholders, view) }
            }
        self.checksums = checksums
    }

    /// The names of the media in archives.
    func archiveNames() throws(BackupError) -> ArchiveNames {
        guard let naming = ManifestNaming(rendering.facts.definition), let media,
            let range = rendering.collections.first(where: { $0.name == naming.collection })?.range
        else { return .none }
        return try naming.names(in: SourceRange(rendering.export, range), media)
    }

    // MARK: Looking

    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? {
        switch path.first {
        case nil: return try top()
        case "data" where path.count == 1: return data()
        case "media": return try mediaView?.children(of: path)
        default: return nil
        }
    }

    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? {
        guard let name = path.last else { return nil }
        if path.first == "media" { return try mediaView?.entry(at: path) }
        // Looking up a missing name must not walk the media folder, which the archives' sizes require.
        if path.count == 1 {
            if let entry = try archives.entry(named: name) { return entry }
            return try stored().first { $0.name == name }
        }
        return try children(of: path.dropLast())?.first { $0.name == name }
    }

    private func top() throws(BackupError) -> [LiveEntry] {
        try (archives.entries() + stored()).sorted { $0.name < $1.name }
    }

    private var archives: LiveArchives { LiveArchives(state: self) }

    // MARK: What is there

    /// The top-level entries, except those made from all files.
    func stored() throws(BackupError) -> [LiveEntry] {
        var entries = [
            folder("data"), file(["database.sqlite"], [rendering.database.content]),
            file(["export.json"], [rendering.export.content]), file(["schema.json"], [.literal(rendering.schema)]),
        ]
        if let folder = try mediaView?.entry(at: ["media"]) { entries.append(folder) }
        return entries
    }

    /// The same entries, as the archives contain them.
    func archived() throws(BackupError) -> [LiveEntry] {
        let entries = try stored()
        guard let archiveExport else { return entries }
        return entries.map { entry in
            guard entry.name == "export.json" else { return entry }
            return LiveEntry(
                name: entry.name, kind: .file, permissions: entry.permissions, size: archiveExport.size,
                modificationTime: entry.modificationTime,
                content: { ExtentTable(plainContent: [.source(archiveExport, offset: 0, length: archiveExport.size)]) },
                checksums: { () throws(BackupError) in ContentHasher.hash(try archiveExport.bytes()) })
        }
    }

    func data() -> [LiveEntry] {
        rendering.collections.map { file(["data", FileName("\($0.name).json")], [rendering.export.content($0.range)]) }
            .sorted { $0.name < $1.name }
    }

    private func folder(_ name: FileName) -> LiveEntry {
        .folder(name, permissions: 0o700, modificationTime: rendering.createdAt)
    }

    private func file(_ path: [FileName], _ pieces: [ContentPiece]) -> LiveEntry {
        let table = ExtentTable(plainContent: pieces)
        return LiveEntry(
            name: path.last ?? "", kind: .file, permissions: 0o600, size: table.size, modificationTime: rendering.createdAt,
            version: rendering.version, isSettled: true, content: { table },
            checksums: { [self] () throws(BackupError) in
                try checksums(of: path) { () throws(BackupError) in try SourceChecksums.of(TableSource(table)) }
            })
    }

    private func checksums(
        of path: [FileName], _ make: () throws(BackupError) -> Checksums
    ) throws(BackupError) -> Checksums {
        if let known = rendered.withLock({ $0[path] }) { return known }
        let checksums = try make()
        rendered.withLock { $0[path] = checksums }
        return checksums
    }
}
