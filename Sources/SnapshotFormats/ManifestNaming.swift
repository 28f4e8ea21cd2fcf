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

/// The names of some files of a snapshot in its archive, where they do not follow from the
/// paths: an app may name photos by the keys of their records. A file may have several.
public struct ArchiveNames: Sendable {
    /// Every file has its own path.
    public static let none = ArchiveNames([:], listsFilledFolders: true)

    /// Whether non-empty folders have entries of their own. Some apps reject archives that contain any; an empty folder always
    /// needs one.
    public let listsFilledFolders: Bool
    /// Paths in the snapshot, and the corresponding ones in the archive.
    private let named: [[UInt8]: [[UInt8]]]
    private let taken: Set<[UInt8]>

    public init(_ named: [[UInt8]: [[UInt8]]], listsFilledFolders: Bool) {
        self.named = named
        self.listsFilledFolders = listsFilledFolders
        taken = Set(named.values.joined())
    }

    /// - Parameter usual: the path of a file without a name of its own. If another file has that path, it gets a number:
    ///   `beach_2.jpg`.
    public func paths(of path: [UInt8], usual: [UInt8]) -> [[UInt8]] {
        if let names = named[path] { return names }
        guard taken.contains(usual) else { return [usual] }
        let start = usual.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let dot = usual[start...].lastIndex(of: UInt8(ascii: ".")) ?? usual.endIndex
        for number in 2... {
            let candidate = usual[..<dot] + Array("_\(number)".utf8) + usual[dot...]
            if !taken.contains(Array(candidate)) { return [Array(candidate)] }
        }
        return [usual]
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
        let contents = StoredContents(try repository.directory(root), in: repository)
        try contents.forEachFile(byPath: true) { (file, _, path) throws(BackupError) in try body(Self.facts(of: file, path)) }
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
