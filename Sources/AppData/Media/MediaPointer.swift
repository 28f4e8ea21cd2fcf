import BackupCore

/// How records point to their files: by a path, of which the part below the media folder counts. Apps write paths of the device
/// they run on; of such a path only the last component is meaningful here.
public struct MediaPointer: Sendable {
    /// The collection of the records that have files, and its field with the path.
    public let collection: Int
    /// Its index in the definition of the collection.
    public let field: Int
    /// The boolean field that marks records whose file is part of the app itself.
    public let exclusion: Int?
    /// The media folder in paths that this program writes: `photos`.
    public let folder: String

    /// - Returns: `nil` when no record of the app has a file.
    public init?(_ definition: AppDefinition) {
        guard let media = definition.media else { return nil }
        for (index, collection) in definition.collections.enumerated() {
            guard let field = collection.fields.firstIndex(where: \.isMedia) else { continue }
            self.collection = index
            self.field = field
            exclusion = collection.mediaExclusionIndex
            folder = media.folder
            return
        }
        return nil
    }

    /// The paths below the media folder at which a record's file may be, the most likely first.
    /// - Parameter text: the value in the record.
    public func paths(_ text: some Collection<UInt8>) -> [[UInt8]] { Self.paths(text, folder: folder) }

    /// The same for a media folder of that name.
    public static func paths(_ text: some Collection<UInt8>, folder: String) -> [[UInt8]] {
        let text = Array(text)
        let prefix = Array("\(folder)/".utf8)
        let name = BytePath.lastComponent(of: text)
        let own = text.starts(with: prefix) ? Array(text.dropFirst(prefix.count)) : text
        return (own == name ? [name] : [own, name]).filter(isSafe)
    }

    /// Whether the path stays below the folder.
    private static func isSafe(_ path: [UInt8]) -> Bool {
        path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            FileName(bytes: Array($0)).isSafeComponent
        }
    }

    /// The value in a record for a file at a path below the media folder.
    public func text(of path: [UInt8]) -> [UInt8] { Array("\(folder)/".utf8) + path }

    /// Whether the record has a file at all.
    public func hasFile(_ record: RecordBuffer) -> Bool {
        guard record.kind(field) == .text else { return false }
        guard let exclusion, record.kind(exclusion) == .boolean else { return true }
        return !record.boolean(exclusion)
    }

    /// The file of a record.
    func file(of record: RecordBuffer, in catalog: any MediaCatalog) throws(BackupError) -> MediaFileFacts? {
        guard hasFile(record) else { return nil }
        for path in paths(record.bytes(field)) {
            if let file = try catalog.file(at: path) { return file }
        }
        return nil
    }
}

/// The content of a media folder, for collections that are generated from it.
public protocol MediaCatalog: Sendable {
    /// - Parameter path: below the folder, without a leading slash.
    /// - Returns: `nil` when there is no such file; links and folders do not count.
    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts?
    /// All files in ascending byte order of their paths.
    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError)
    /// Distinguishes states of the folder; `nil` when that is not possible.
    func state() throws(BackupError) -> String?
}

/// A file of the media folder, as far as known without reading it.
public struct MediaFileFacts: Sendable {
    /// Below the folder.
    public let path: [UInt8]
    /// In bytes.
    public let size: UInt64
    /// As `stat` has it: programs can set it.
    public let modificationTime: Timestamp
    /// `nil` when the file has not been read since it was written.
    public let checksums: Checksums?

    public init(path: [UInt8], size: UInt64, modificationTime: Timestamp, checksums: Checksums?) {
        self.path = path
        self.size = size
        self.modificationTime = modificationTime
        self.checksums = checksums
    }

    /// The last component of the path.
    public var name: ArraySlice<UInt8> {
        path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path[...]
    }
}
