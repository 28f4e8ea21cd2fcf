import AppData
import BackupCore
import BackupRepository
import Formats
import SnapshotFormats

/// The files of `live/` for one rendering. Media files come from the folder itself, in its current state.
final class LiveState: LiveView {
    private static let generatedNames = [ChecksumListing.Algorithm.sha256.fileName] + ArchiveFormat.allCases.map(\.fileName)

    private let rendering: AppRendering
    private let mediaView: LiveMediaView?
    /// Maps path prefixes to those in the app's own archives.
    private let archiveLayout: ArchivePathMap
    private let media: (any MediaCatalog)?
    private let repository: Repository
    private let restores: RestoreWatch
    /// The top-level entries of the rendering, and the same as the archives contain them.
    private let rendered: [LiveEntry]
    private let archived: [LiveEntry]
    private let data: [LiveEntry]

    init(rendering: AppRendering, mediaView: LiveMediaView?, of store: Store, _ restores: RestoreWatch) {
        self.rendering = rendering
        self.mediaView = mediaView
        self.restores = restores
        archiveLayout = store.definition.archiveLayout
        media = store.database.media
        repository = store.repository
        func file(_ name: FileName, _ piece: ContentPiece) -> LiveEntry {
            LiveEntry(
                name: name, kind: .file, permissions: 0o600, size: piece.length, modificationTime: rendering.createdAt,
                version: rendering.version, isSettled: true, content: MadeContent([piece], in: store.repository))
        }
        let folder = LiveEntry.folder("data", permissions: 0o700, modificationTime: rendering.createdAt)
        let others = [
            folder, file("database.sqlite", rendering.database.content), file("schema.json", .literal(rendering.schema)),
        ]
        let export = rendering.export.content
        rendered = others + [file("export.json", export)]
        archived = others + [file("export.json", mediaView.flatMap(rendering.archiveExport) ?? export)]
        data = rendering.collections.map { file(FileName("\($0.name).json"), $0.file.content) }
            .sorted { $0.name < $1.name }
    }

    // MARK: Looking

    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? {
        switch path.first {
        case nil: return try (generated() + withMedia(rendered)).sorted { $0.name < $1.name }
        case "data" where path.count == 1: return data
        case "media": return try mediaView?.children(of: path)
        default: return nil
        }
    }

    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? {
        guard let name = path.last else { return nil }
        if path.first == "media" { return try mediaView?.entry(at: path) }
        guard path.count == 1 else { return try children(of: path.dropLast())?.first { $0.name == name } }
        // Looking up a missing name must not walk the media folder, which the archives' sizes require.
        return try (Self.generatedNames.contains(name) ? generated() : withMedia(rendered)).first { $0.name == name }
    }

    private func withMedia(_ entries: [LiveEntry]) throws(BackupError) -> [LiveEntry] {
        guard let folder = try mediaView?.entry(at: ["media"]) else { return entries }
        return entries + [folder]
    }

    // MARK: The files made from all others

    /// The list of checksums, and the archives with the list and the files, with their exact sizes. This walks the media folder
    /// but does not open its files.
    private func generated() throws(BackupError) -> [LiveEntry] {
        let contents = try contents()
        let names = try archiveNames()
        var zip = ZIPLayout.SizeCounter()
        var tar = TARLayout.SizeCounter()
        try visit(contents, plan(names, nil)) { (member) throws(BackupError) in
            try zip.append(member)
            try tar.append(member)
        }
        let listing = ChecksumListing.Algorithm.sha256
        return [
            entry(listing.fileName, try contents.listingSizeBytes(listing)) { () throws(BackupError) in
                ExtentTable(literal: try ChecksumListing.text(of: contents, listing))
            }
        ]
            + [(ArchiveFormat.tar, tar.archivedSize), (.zip, zip.archivedSize)].map { format, size in
                entry(format.fileName, size) { [self] () throws(BackupError) in
                    try format.layout.table { (body) throws(BackupError) in try visit(contents, plan(names, format), body) }
                }
            }
    }

    private func entry(
        _ name: FileName, _ size: UInt64, _ make: @escaping @Sendable () throws(BackupError) -> ExtentTable
    ) -> LiveEntry {
        let content = MadeContent(in: repository) { [restores] () throws(BackupError) in
            // The records were read before the media were listed: a restore in between would combine old records with new media.
            try restores.requireNone()
            let table = try make()
            try restores.requireNone()
            return table
        }
        return LiveEntry(
            name: name, kind: .file, permissions: 0o600, size: size, modificationTime: rendering.createdAt, content: content)
    }

    private func contents() throws(BackupError) -> LiveContents {
        var folders = ["data": LiveContents(data)] as [FileName: LiveContents]
        if let mediaView { folders["media"] = try LiveContents(["media"], mediaView, OpenMediaFiles()) }
        return LiveContents(try withMedia(archived), folders: folders)
    }

    /// - Parameter format: `nil` to measure.
    private func plan(_ names: ArchiveNames, _ format: ArchiveFormat?) -> ArchivePlan {
        var plan = ArchivePlan(archiveLayout, names: names, time: rendering.createdAt)
        plan.listings = [.sha256]
        plan.keepsListings = true
        plan.hasCRC32 = format == .zip
        // The list needs the checksums of all files. At the end of the archive it delays no other member: the archive is
        // written immediately, and each file is hashed just after it was read.
        plan.listingsAreLast = format == .tar
        return plan
    }

    private func visit(
        _ contents: LiveContents, _ plan: ArchivePlan, _ body: (ArchiveMember) throws(BackupError) -> Void
    ) throws(BackupError) {
        try SnapshotArchive.visit(contents, plan) { (member, entry) throws(BackupError) in
            // A rule of the layout may leave nothing of a file's path, and end a folder's without a slash.
            guard !member.path.isEmpty else { return }
            guard entry?.kind == .directory, !member.isDirectory else { return try body(member) }
            try body(
                ArchiveMember(
                    path: member.path.dropLast() + [UInt8(ascii: "/")], mode: member.mode,
                    modificationTime: member.modificationTime, size: 0, crc32: 0, content: []))
        }
    }

    /// The names of the media in archives. An archive with the snapshot's paths has no others.
    private func archiveNames() throws(BackupError) -> ArchiveNames {
        guard !archiveLayout.isIdentity, let naming = ManifestNaming(rendering.facts.definition), let media,
            let collection = rendering.collections.first(where: { $0.name == naming.collection })?.file
        else { return .none }
        return try naming.names(in: collection, media)
    }
}
