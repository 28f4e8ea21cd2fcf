import BackupCore
import BackupRepository
import SnapshotFormats

/// A folder inside a snapshot, as it was stored. Its directory object is read at the first access.
final class StoredFolder: FolderNode {
    let inode: InodeNumber
    private let place: Place
    /// Whether it is, or is in, the app's own media folder.
    private let isMedia: Bool
    private let context: TreeContext

    private enum Place: Sendable {
        case root(Snapshot)
        case folder(TreeEntry, in: StoredFolder)
        /// What is rendered of a snapshot's root (`RenderedFiles.entries`), and the folder with its collections.
        case renderedRoot(Snapshot)
        case renderedData(Snapshot)
    }

    private static let mediaName: FileName = "media"
    /// Files that this program creates in every backup and can restore from as a whole.
    private static let madeNames: Set<FileName> = ["export.json", "database.sqlite"]

    /// The root of a snapshot.
    init(rootOf snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        place = .root(snapshot)
        isMedia = false
        self.inode = inode
        self.context = context
    }

    /// What is shown in the root of a snapshot that does not store it: `export.json` and `data/`.
    /// - Parameter inode: of the root.
    init(renderedIn snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        place = .renderedRoot(snapshot)
        isMedia = false
        self.inode = inode
        self.context = context
    }

    private init(renderedDataOf snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        place = .renderedData(snapshot)
        isMedia = false
        self.inode = inode
        self.context = context
    }

    private init(_ entry: TreeEntry, in parent: StoredFolder, inode: InodeNumber) {
        place = .folder(entry, in: parent)
        isMedia = parent.isMedia(entry)
        self.inode = inode
        context = parent.context
    }

    private func directory() throws(BackupError) -> Directory {
        do {
            switch place {
            case .root(let snapshot): return try repository.rootDirectory(of: snapshot)
            case .folder(let entry, _): return try repository.directory(of: entry)
            case .renderedRoot, .renderedData: return try renderedDirectory()
            }
        } catch {
            throw error.at(path)
        }
    }

    /// The export, if this shows a part of it.
    private var rendered: RenderedFiles? {
        get throws(BackupError) {
            switch place {
            case .root, .folder: nil
            case .renderedRoot(let snapshot), .renderedData(let snapshot): try context.renderedFiles(of: snapshot)
            }
        }
    }

    private func renderedDirectory() throws(BackupError) -> Directory {
        guard let files = try rendered else { return try Directory(entries: [] as [TreeEntry]) }
        if case .renderedData = place { return files.data }
        return try Directory(entries: files.entries)
    }

    var isRendered: Bool {
        switch place {
        case .root, .folder: false
        case .renderedRoot, .renderedData: true
        }
    }

    /// The nodes of a rendered root, which is not rendered for that.
    var renderedNodes: [(name: FileName, node: any Node)] {
        guard case .renderedRoot(let snapshot) = place else { return [] }
        // In the order of `directory`.
        let names = [RenderedFiles.dataName, RenderedFiles.exportName]
        let data = StoredFolder(renderedDataOf: snapshot, inode: inode.child(names[0]), context: context)
        return [(names[0], data), (names[1], StoredFile(1, in: self, inode: inode.child(names[1]), isDerived: true))]
    }

    var looksAtTheApp: Bool { isRendered }
    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        switch place {
        case .root(let snapshot), .renderedRoot(let snapshot), .renderedData(let snapshot):
            return context.folderAttributes(inode, time: snapshot.creationTime, isImmutable: true)
        case .folder(let entry, let parent): return parent.attributes(of: entry, inode)
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        let directory = try directory()
        guard let index = directory.index(named: name) else { throw .notFound(name) }
        return node(directory.entries[index], index)
    }

    func listing() throws(BackupError) -> FolderListing {
        let entries = try directory().entries
        return FolderListing(count: entries.count) { [self] index in
            let entry = entries[index]
            return (entry.name, attributes(of: entry, inode.child(entry.name)))
        } node: { [self] index in
            node(entries[index], index)
        }
    }

    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
        guard case .folder(let entry, _) = place else { return [] }
        return entry.metadata?.extendedAttributes ?? []
    }

    var isImmutable: Bool { true }
    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.immutableTimeoutSeconds }

    private func isMedia(_ child: TreeEntry) -> Bool {
        if isMedia { return true }
        if case .root = place { return child.name == Self.mediaName }
        return false
    }

    private func node(_ entry: TreeEntry, _ index: Int) -> any Node {
        let inode = inode.child(entry.name)
        switch entry.kind {
        case .file: return StoredFile(Int32(index), in: self, inode: inode, isDerived: entry.checksums == nil)
        case .symbolicLink: return StoredLink(Int32(index), in: self, inode: inode)
        case .directory: return StoredFolder(entry, in: self, inode: inode)
        }
    }
}

// MARK: - For `versions/`

extension StoredFolder {
    /// The content of its directory object: folders with the same one have the same files. `nil` for a rendered folder.
    var storedContent: FileContent? {
        switch place {
        case .root(let snapshot): snapshot.record.root.content
        case .folder(let entry, _): entry.content
        case .renderedRoot, .renderedData: nil
        }
    }

    /// What it has, sorted by name.
    func entries() throws(BackupError) -> [TreeEntry] { try directory().entries }

    func entry(named name: FileName) throws(BackupError) -> (index: Int, entry: TreeEntry)? {
        let directory = try directory()
        return directory.index(named: name).map { ($0, directory.entries[$0]) }
    }

    /// - Returns: `nil` when it has no folder of that name.
    func folder(named name: FileName) throws(BackupError) -> StoredFolder? {
        guard let entry = try entry(named: name)?.entry, entry.kind == .directory else { return nil }
        return StoredFolder(entry, in: self, inode: inode.child(name))
    }

    /// The file at `index` under another number.
    func file(at index: Int, _ entry: TreeEntry, inode: InodeNumber) -> StoredFile {
        StoredFile(Int32(index), in: self, inode: inode, isDerived: entry.checksums == nil)
    }
}

// MARK: - For the files in it

extension StoredFolder {
    var repository: Repository { context.repository }

    /// The entry at `index`: directories never change.
    func entry(at index: Int32) throws(BackupError) -> TreeEntry { try directory().entries[Int(index)] }

    /// From the directory object alone: a listing opens nothing.
    func attributes(of entry: TreeEntry, _ inode: InodeNumber) -> NodeAttributes {
        NodeAttributes(entry, inode, isMade: !isMedia(entry), isImmutable: true, context)
    }

    func checksums(of file: TreeEntry) throws(BackupError) -> Checksums? {
        if let rendered = try rendered?.file(file) { return try rendered.checksums(in: repository) }
        return try repository.checksums(of: file)
    }

    /// Whether that costs no read of the file.
    func knowsChecksums(of file: TreeEntry) -> Bool {
        if let rendered = (try? rendered)?.file(file) { return rendered.hasKnownChecksums }
        return repository.knowsChecksums(of: file)
    }

    /// Whether a file in it was created by this program to restore from.
    func isMade(_ file: TreeEntry) -> Bool {
        switch place {
        case .root, .renderedRoot: Self.madeNames.contains(file.name)
        case .folder, .renderedData: false
        }
    }

    /// The places of the bytes of the file at `index`.
    func pieces(of index: Int32, _ entry: TreeEntry) throws(BackupError) -> [ContentPiece] {
        if let file = try rendered?.file(entry) { return file.pieces }
        return try context.places.pieces(of: Int(index), in: directory(), folder: inode, repository: repository)
    }

    /// For messages: the snapshot's name, and the names of the folders.
    private var path: String {
        switch place {
        case .root(let snapshot), .renderedRoot(let snapshot): snapshot.name.description
        case .renderedData(let snapshot): "\(snapshot.name)/\(RenderedFiles.dataName)"
        case .folder(let entry, let parent): parent.path(of: entry.name)
        }
    }

    func path(of name: FileName) -> String { "\(path)/\(name)" }

    /// What a file of the media folder says of itself as a photo; nothing if the list cannot be read.
    func photoAttributes(of name: FileName) -> [(name: String, value: String)] {
        guard isMedia else { return [] }
        var names = [name]
        var folder = self
        while case .folder(let entry, let parent) = folder.place {
            names.append(entry.name)
            folder = parent
        }
        guard case .root(let snapshot) = folder.place,
            let photos = (try? context.snapshotPhotos.photos(of: snapshot, in: repository)).flatMap({ $0 })
        else { return [] }
        // Without `media`.
        let path = BytePath.joined(names.dropLast().reversed())
        return (try? photos.index.record(path: path)).flatMap { $0 }.map(PhotoAttributes.attributes) ?? []
    }
}

/// A file inside a snapshot. The kernel may know hundreds of thousands of them, so each holds only its folder and its index
/// there.
final class StoredFile: FileNode {
    let inode: InodeNumber
    private let folder: StoredFolder
    private let index: Int32
    /// Whether its digests may have to be computed.
    private let isDerived: Bool

    init(_ index: Int32, in folder: StoredFolder, inode: InodeNumber, isDerived: Bool) {
        self.index = index
        self.isDerived = isDerived
        self.folder = folder
        self.inode = inode
    }

    private func entry() throws(BackupError) -> TreeEntry { try folder.entry(at: index) }

    var looksAtTheApp: Bool { folder.isRendered }
    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { folder.waitsForNetwork }

    func attributes() throws(BackupError) -> NodeAttributes { folder.attributes(of: try entry(), inode) }

    var mimeType: String? { (try? entry()).map { MIMEType.of($0.name) } }
    var hasChecksums: Bool { true }
    var listsChecksums: Bool { (try? entry()).map { folder.knowsChecksums(of: $0) } ?? false }
    var computesChecksums: Bool { isDerived }
    func checksums() throws(BackupError) -> Checksums? { try folder.checksums(of: entry()) }

    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
        try entry().metadata?.extendedAttributes ?? []
    }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        folder.photoAttributes(of: try entry().name)
    }

    var givesContent: Bool { !waitsForNetwork && !folder.isRendered }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        let entry = try entry()
        return OpenExtents(
            ExtentTable(plainContent: try folder.pieces(of: index, entry)), repository: folder.repository,
            isImmutable: true, isOwnMaking: folder.isMade(entry), path: { [self] in folder.path(of: entry.name) })
    }
}

/// A symbolic link inside a snapshot's media folder, shown as it was; this program never follows it.
final class StoredLink: LinkNode {
    let inode: InodeNumber
    private let folder: StoredFolder
    private let index: Int32

    init(_ index: Int32, in folder: StoredFolder, inode: InodeNumber) {
        self.index = index
        self.folder = folder
        self.inode = inode
    }

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { folder.waitsForNetwork }

    func attributes() throws(BackupError) -> NodeAttributes { folder.attributes(of: try folder.entry(at: index), inode) }

    /// - Throws: `repositoryDamaged` for a target that no writer stores: the kernel would cut it off at the NUL, and show another
    ///   target.
    func target() throws(BackupError) -> [UInt8] {
        let entry = try folder.entry(at: index)
        guard let target = entry.linkTarget, !target.isEmpty, !target.contains(0) else {
            throw BackupError(.repositoryDamaged, "the link leads to no path", path: MessageText.name(entry.name.bytes))
        }
        return target
    }
}
