import BackupCore
import BackupRepository
import SnapshotFormats

/// A file computed from a snapshot when it is opened: `archive.zip` and `archive.tar`, which are tables of extents over the
/// stored chunks, and the checksum listings. In `exports/` and `safety/`, a snapshot's archive or export is one flat file under
/// another name.
final class ComputedFile: FileNode {
    enum Form: Sendable {
        case archive(ArchiveFormat)
        /// Its size comes from the totals of the root directory object.
        case listing(ChecksumListing.Algorithm)
        /// The stored one.
        case export
        /// `index.html`: the export as a page. Its words are in the store's language, and its look is the program's.
        case page

        var fileName: FileName {
            switch self {
            case .archive(let format): format.fileName
            case .listing(let algorithm): algorithm.fileName
            case .export: "export.json"
            case .page: "index.html"
            }
        }
    }

    let inode: InodeNumber
    private let form: Form
    private let snapshot: Snapshot
    private let isFlat: Bool
    private let context: TreeContext

    init(_ form: Form, of snapshot: Snapshot, inode: InodeNumber, isFlat: Bool = false, context: TreeContext) {
        self.form = form
        self.snapshot = snapshot
        self.inode = inode
        self.isFlat = isFlat
        self.context = context
    }

    /// As it is called now.
    private var current: Snapshot { context.repository.snapshot(id: snapshot.id) ?? snapshot }

    private var path: String { "\(snapshot.name)/\(form.fileName)" }
    private var isArchive: Bool { if case .archive = form { true } else { false } }
    private var isListing: Bool { if case .listing = form { true } else { false } }
    private var isPage: Bool { if case .page = form { true } else { false } }

    private func contents() throws(BackupError) -> StoredContents {
        try StoredContents(
            root: context.repository.rootDirectory(of: snapshot), with: rendered(), in: context.repository)
    }

    private func rendered() throws(BackupError) -> RenderedFiles? { try context.renderedFiles(of: snapshot) }

    private func export() throws(BackupError) -> TreeEntry {
        if let entry = try rendered()?.entries.first(where: { $0.name == Form.export.fileName }) { return entry }
        guard let entry = try context.repository.rootDirectory(of: snapshot).entry(named: Form.export.fileName) else {
            throw BackupError(.notFound, "the snapshot has no export", path: snapshot.name.description)
        }
        return entry
    }

    private func size() throws(BackupError) -> UInt64 {
        switch form {
        case .listing(let algorithm): return try contents().listingSizeBytes(algorithm)
        case .export: return try export().size
        case .page:
            let size = try export().size
            let (head, hasExport) = context.services.recordsPage(of: current, exportSizeBytes: size)
            return UInt64(head.count) + (hasExport ? size : 0)
        case .archive(let format):
            if let sizes = try rendered()?.archiveSizes { return format == .zip ? sizes.zip : sizes.tar }
            return try context.archives.size(of: ArchiveCache.Key(snapshot: snapshot.id, format: format)) {
                () throws(BackupError) in
                do throws(BackupError) {
                    return try context.measureArchive(snapshot, format, context.repository)
                } catch {
                    throw error.at(path)
                }
            }
        }
    }

    /// Whether it can be listed: not if an archive's size must be computed from damaged folders, and no page without an export.
    func canBeListed() throws(BackupError) -> Bool {
        if isPage { return (try? size()) != nil }
        guard isArchive else { return true }
        do throws(BackupError) {
            _ = try size()
            return true
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return false
        }
    }

    var looksAtTheApp: Bool { context.services.showsRenderedExport(snapshot) }
    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }

    func attributes() throws(BackupError) -> NodeAttributes {
        var time = snapshot.creationTime
        if case .export = form { time = try export().modificationTime }
        if isPage {
            return NodeAttributes(
                inode: inode, kind: .file, permissions: context.filePermissions, size: try size(), modificationTime: time)
        }
        return NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: try size(), modificationTime: time,
            isImmutable: true,
            // A flat file's name disappears with the snapshot, which may be deleted at any time.
            entryTimeoutSeconds: isFlat ? 0 : TreeContext.immutableTimeoutSeconds,
            attributeTimeoutSeconds: TreeContext.immutableTimeoutSeconds)
    }

    /// - Returns: also whether it stays as it is: a listing that lacks digests of damaged data does not.
    private func table() throws(BackupError) -> (table: ExtentTable, isLasting: Bool) {
        switch form {
        case .listing(let algorithm):
            let (bytes, isComplete) = try ChecksumListing.readableText(of: contents(), algorithm)
            return (ExtentTable(literal: bytes), isComplete)
        case .export:
            if let rendered = try rendered() { return (rendered.export.table, true) }
            return (try context.repository.extents(of: export().content), true)
        case .page:
            let rendered = try rendered()
            let export =
                if let rendered { rendered.export.table } else { try context.repository.extents(of: self.export().content) }
            let (head, hasExport) = context.services.recordsPage(of: current, exportSizeBytes: export.size)
            var page = ExtentTable(literal: head)
            if hasExport { for extent in export.extents { page.append(extent) } }
            return (page, false)
        case .archive(let format):
            let table = try context.archives.table(of: ArchiveCache.Key(snapshot: snapshot.id, format: format)) {
                () throws(BackupError) in
                let size = try size()
                let table = try SnapshotArchive.table(of: snapshot, format, with: rendered(), in: context.repository)
                guard table.size == size else {
                    throw BackupError(
                        .repositoryDamaged,
                        "the archive would have \(table.size) bytes, but had \(size) at the backup",
                        path: path,
                        remedy: "The files of the snapshot are not affected: read them from its folder.")
                }
                return table
            }
            return (table, true)
        }
    }

    var mimeType: String? { MIMEType.of(form.fileName) }
    var hasChecksums: Bool { true }
    var computesChecksums: Bool { isArchive || isFlat || isListing || isPage }
    /// A listing needs the digests of the export.
    var computesContent: Bool { isListing }

    var listsChecksums: Bool {
        switch form {
        case .archive: context.archives.hasChecksums(of: inode)
        case .page: false
        // A listing needs those of the export.
        case .listing, .export: knowsChecksumsOfExport
        }
    }

    private var knowsChecksumsOfExport: Bool {
        if let rendered = (try? rendered()).flatMap({ $0 }) { return rendered.export.hasKnownChecksums }
        return (try? export()).map { context.repository.knowsChecksums(of: $0) } ?? false
    }

    /// Unless they are stored, computed once by reading the file completely.
    func checksums() throws(BackupError) -> Checksums? {
        if case .export = form {
            if let rendered = try rendered() { return try rendered.export.checksums(in: context.repository) }
            return try context.repository.checksums(of: export())
        }
        return try context.archives.checksums(of: inode) { () throws(BackupError) in
            let (table, isLasting) = try table()
            return (try context.repository.checksums(of: table), isLasting)
        }
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        let (table, isLasting) = try table()
        return OpenExtents(
            table, repository: context.repository, path: path, isImmutable: isLasting, isOwnMaking: !isListing && !isPage)
    }
}
