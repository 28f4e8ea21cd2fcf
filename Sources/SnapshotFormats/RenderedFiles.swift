import AppData
import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// The export of a snapshot that does not store it: `export.json` and the collections in `data/`, rendered from the snapshot's
/// database. Together with the stored entries it is a snapshot like any other.
public struct RenderedFiles: Sendable {
    /// A rendered file.
    public final class File: Sendable {
        /// Its bytes.
        public let source: any ByteSource
        /// Its size in bytes.
        public let sizeBytes: UInt64
        /// The CRC-32 of its bytes.
        public let crc32: UInt32
        private let known = Mutex<Checksums?>(nil)

        public init(_ source: any ByteSource, sizeBytes: UInt64, crc32: UInt32) {
            self.source = source
            self.sizeBytes = sizeBytes
            self.crc32 = crc32
        }

        /// The same bytes for an archive.
        public var pieces: [ContentPiece] { sizeBytes == 0 ? [] : [.source(source, offset: 0, length: sizeBytes)] }
        public var table: ExtentTable { ExtentTable(plainContent: pieces) }

        /// Whether its checksums cost no read of the file.
        public var hasKnownChecksums: Bool { known.withLock { $0 != nil } }

        /// Computed when they are first asked for.
        public func checksums(in repository: Repository) throws(BackupError) -> Checksums {
            if let known = known.withLock({ $0 }) { return known }
            let checksums = try repository.checksums(of: table)
            known.withLock { $0 = checksums }
            return checksums
        }
    }

    /// The name of the export.
    public static let exportName: FileName = "export.json"
    /// The name of the folder with the collections.
    public static let dataName: FileName = "data"
    /// What follows the name of a collection in the name of its file.
    public static let collectionSuffix = ".json"

    /// `export.json`.
    public let export: File
    /// In the definition's order.
    public let collections: [(name: String, file: File)]
    /// The folder `data`.
    public let data: Directory
    /// Those of the snapshot's root: `data` and `export.json`.
    public let entries: [TreeEntry]
    /// How the app's archives are laid out, and where their names are.
    public let layout: ArchivePathMap
    public let naming: ManifestNaming?
    /// The sizes of the archives of the snapshot with them, if known.
    public let archiveSizes: ArchiveSizes?
    private let files: [FileContent: File]
    private let dataContent: FileContent

    /// - Parameters:
    ///   - snapshot: the one without an export.
    ///   - layout: of the app's archives.
    ///   - naming: as the app's definition has it, in the wire format of the data.
    /// - Throws: `invalidArgument` for collections whose names cannot be those of files.
    public init(
        of snapshot: Snapshot, export: File, collections: [(name: String, file: File)], layout: ArchivePathMap,
        naming: ManifestNaming?, archiveSizes: ArchiveSizes? = nil
    ) throws(BackupError) {
        self.export = export
        self.collections = collections
        self.layout = layout
        self.naming = naming
        self.archiveSizes = archiveSizes
        let time = snapshot.creationTime
        var files: [FileContent: File] = [:]
        func entry(_ path: String, _ name: FileName, _ file: File) -> TreeEntry {
            let content = Self.content(path, file.sizeBytes, of: snapshot)
            files[content] = file
            return .derivedFile(name: name, mode: 0o600, modificationTime: time, content: content, crc32: file.crc32)
        }
        data = try Directory(
            entries: collections.map { name, file in entry("data/\(name)", FileName(name + Self.collectionSuffix), file) })
        dataContent = Self.content("data", 1, of: snapshot)
        entries = [
            .directory(
                name: Self.dataName, mode: 0o700, modificationTime: time,
                stored: StoredDirectory(content: dataContent, totals: data.totals)),
            entry("export", Self.exportName, export),
        ]
        self.files = files
    }

    /// A content that stands for a rendered file. It has the right size, and is never looked up in a repository.
    private static func content(_ path: String, _ sizeBytes: UInt64, of snapshot: Snapshot) -> FileContent {
        let digest = SHA256Hasher.hash(Array("rendered \(snapshot.id.hexadecimal) \(path)".utf8))
        return FileContent(elements: [.list(ChunkID(digest), plainLength: sizeBytes)])
    }

    /// The snapshot's root with them.
    public func completing(_ root: Directory) throws(BackupError) -> Directory {
        try Directory(entries: root.entries + entries)
    }

    /// The file that an entry stands for; `nil` for an entry that is stored.
    public func file(_ entry: TreeEntry) -> File? { entry.kind == .file ? files[entry.content] : nil }

    /// The folder that an entry stands for; `nil` for an entry that is stored.
    public func folder(_ entry: TreeEntry) -> Directory? {
        entry.kind == .directory && entry.content == dataContent ? data : nil
    }

    /// The names of the media files in the app's archives.
    func archiveNames(root: Directory, in repository: Repository) throws(BackupError) -> ArchiveNames {
        guard let naming, let media = root.entry(named: "media")?.storedDirectory,
            let collection = collections.first(where: { $0.name == naming.collection })?.file
        else { return .none }
        return try naming.names(in: collection.source, StoredMediaCatalog(media, in: repository))
    }
}
