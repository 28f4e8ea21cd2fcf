import AppData
import BackupCore
import BackupRepository
import Formats
import Synchronization

/// The place where an export records the names of media files in the app's archive: a collection of the export. Stored with each
/// snapshot, so its archive stays the same whatever happens to the definition.
public struct ManifestNaming: Sendable {
    /// The name of the collection in the export.
    public let collection: String
    /// The members with the path of a file in records, and with its path in the archive.
    let recordPathField: String
    let archivePathField: String
    /// The name of the media folder in records.
    let folder: String

    /// - Returns: `nil` for an app whose archive uses the media files' own paths.
    public init?(_ definition: AppDefinition) {
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
    public init?(_ text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4 else { return nil }
        (collection, recordPathField, archivePathField, folder) = (parts[0], parts[1], parts[2], parts[3])
    }

    /// What `init?(_:)` reads: four parts on lines of their own.
    public var text: String { [collection, recordPathField, archivePathField, folder].joined(separator: "\n") }

    /// The names of a snapshot's media files; empty without such a collection.
    public static func names(
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
    public func hasLongNames(in source: any ByteSource) throws(BackupError) -> Bool {
        var isFound = false
        try ManifestMembers.forEach(in: source, recordPathField, archivePathField) { (_, archivePath) throws(BackupError) in
            if BytePath.lastComponent(of: archivePath).count > FileName.byteCountLimit { isFound = true }
        }
        return isFound
    }

    /// - Parameter source: the collection, in the form of `data/NAME.json`.
    public func names(in source: any ByteSource, _ catalog: any MediaCatalog) throws(BackupError) -> ArchiveNames {
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

/// A media folder in a backup, or in one being made. Reads only folders.
public final class StoredMediaCatalog: MediaCatalog {
    /// How many folders to cache.
    private static let countLimit = 64

    private let root: StoredDirectory
    private let repository: Repository
    private let known = Mutex<[[UInt8]: Directory]>([:])

    /// - Parameter root: a folder whose chunks are all in the catalog.
    public init(_ root: StoredDirectory, in repository: Repository) {
        self.root = root
        self.repository = repository
    }

    /// - Parameter path: relative to the folder.
    public func entry(at path: [UInt8]) throws(BackupError) -> TreeEntry? {
        try folder(BytePath.folder(of: path))?.entry(named: FileName(bytes: BytePath.lastComponent(of: path)))
    }

    private func folder(_ path: [UInt8]) throws(BackupError) -> Directory? {
        if let directory = known.withLock({ $0[path] }) { return directory }
        let directory: Directory
        if path.isEmpty {
            directory = try repository.directory(root)
        } else {
            guard let entry = try entry(at: path), entry.kind == .directory else { return nil }
            directory = try repository.directory(of: entry)
        }
        known.withLock { known in
            if known.count >= Self.countLimit { known.removeAll() }
            known[path] = directory
        }
        return directory
    }

    public func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? {
        guard let entry = try entry(at: path), entry.kind == .file else { return nil }
        return Self.facts(of: entry, path)
    }

    public func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try forEachFile(in: repository.directory(root), [], body)
    }

    private func forEachFile(
        in directory: Directory, _ prefix: [UInt8], _ body: (MediaFileFacts) throws(BackupError) -> Void
    ) throws(BackupError) {
        for entry in directory.entries.sorted(by: {
            MediaOrder.precedes(($0.name, $0.kind == .directory), ($1.name, $1.kind == .directory))
        }) {
            let path = prefix + entry.name.bytes
            switch entry.kind {
            case .file: try body(Self.facts(of: entry, path))
            case .directory: try forEachFile(in: repository.directory(of: entry), path + [UInt8(ascii: "/")], body)
            case .symbolicLink: continue
            }
        }
    }

    private static func facts(of entry: TreeEntry, _ path: [UInt8]) -> MediaFileFacts {
        MediaFileFacts(
            path: path, size: entry.size, modificationTime: entry.modificationTime, checksums: entry.checksums)
    }

    public func state() -> String? { root.content.fingerprint.hexadecimal }
}

/// Orders a folder's entries so that whole paths ascend by their bytes: a folder sorts as its name with a slash.
public enum MediaOrder {
    /// Whether `left` comes first. Both are entries of one folder.
    public static func precedes(_ left: (name: FileName, isFolder: Bool), _ right: (name: FileName, isFolder: Bool)) -> Bool {
        let slash: [UInt8] = [UInt8(ascii: "/")]
        let leftBytes = left.isFolder ? left.name.bytes + slash : left.name.bytes
        let rightBytes = right.isFolder ? right.name.bytes + slash : right.name.bytes
        return leftBytes.lexicographicallyPrecedes(rightBytes)
    }
}
