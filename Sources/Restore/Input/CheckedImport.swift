import AppData
import BackupCore
import Formats
import SystemIO

/// A dropped file that was fully checked and can be restored.
public struct CheckedImport: Sendable {
    enum Records: Sendable {
        case wire(RelocatedRecords)
        case database(DroppedDatabase)
        /// Not just the records: the whole database.
        case whole(DroppedDatabase)
    }

    public let format: DroppedFormat
    /// What to do with the existing data.
    public let strategy: ImportStrategy
    public let summary: ImportSummary
    let records: Records
    let archive: ArchiveImport?
    /// For a backup's own archive: the rows of its database.
    var rows: BackupRows?
    /// Whether the lost database, recreated from the backup's database, already has these records, which then stay unchanged.
    var staysInRecreation = false
    /// Whether the file has only some records, so that others to which they refer are in the database.
    var isPart = false
    /// Warnings about the archive's media.
    var mediaWarnings: [Message] = []
    /// The backup's media, with the metadata that no archive contains; `nil` where they do not replace all existing media.
    var storedMedia: StoredMedia?
    /// The number of files missing from the backup, because they could not be read when it was created.
    public internal(set) var unreadFileCount = 0
    /// Warnings about the database that receives the records, and about the one that rows were to be copied from.
    var databaseWarnings: [Message] = []

    /// Damaged or missing files that were left out on request, each with the reason.
    public var leftOut: [Message] { archive?.leftOut ?? [] }

    /// Whether it defines the content of the media folder.
    public var hasMedia: Bool { archive?.hasMedia ?? false }

    /// Whether records name files at other paths than in the backup.
    var movesFiles: Bool {
        guard case .wire(let source) = records else { return false }
        return !source.paths.isEmpty
    }

    /// The app's definition, in the file's format.
    var definition: AppDefinition {
        switch records {
        case .wire(let source): source.definition
        case .database(let source), .whole(let source): source.definition
        }
    }

    /// All warnings that do not stop a restore.
    public var warnings: [Message] {
        summary.warnings + (archive?.warnings ?? []) + mediaWarnings + databaseWarnings
            + (unexported.map { [$0.restoreWarning] } ?? [])
    }

    /// Data in a database that is not part of its records.
    private var unexported: UnexportedData? {
        guard rows == nil, case .database(let source) = records else { return nil }
        return source.unexported
    }
}

/// The records of an export, with the restored paths of their files.
struct RelocatedRecords: RecordSource, Sendable {
    let source: WireReader
    /// By the keys of the records.
    var paths: [FieldValue: [UInt8]] = [:]

    var definition: AppDefinition { source.definition }

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        guard !paths.isEmpty, let pointer = MediaPointer(definition) else { return try source.visit(with: visitor) }
        try source.visit(
            with: RelocatingVisitor(visitor, paths, pointer, keyIndex: definition.collections[pointer.collection].keyIndex))
    }
}

/// Forwards records with the new paths written into them.
private final class RelocatingVisitor: RecordVisitor {
    private let next: any RecordVisitor
    private let paths: [FieldValue: [UInt8]]
    private let pointer: MediaPointer
    private let keyIndex: Int

    init(_ next: any RecordVisitor, _ paths: [FieldValue: [UInt8]], _ pointer: MediaPointer, keyIndex: Int) {
        self.next = next
        self.paths = paths
        self.pointer = pointer
        self.keyIndex = keyIndex
    }

    func visit(metadata: RecordBuffer) throws(BackupError) { try next.visit(metadata: metadata) }
    func visit(settings: RecordBuffer) throws(BackupError) { try next.visit(settings: settings) }
    func beginCollection(_ collection: Int) throws(BackupError) { try next.beginCollection(collection) }
    func visit(unknownField path: String) throws(BackupError) { try next.visit(unknownField: path) }
    func visit(misplaced message: Message) throws(BackupError) { try next.visit(misplaced: message) }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        if collection == pointer.collection, pointer.hasFile(record), let path = paths[record.value(keyIndex)] {
            path.withUnsafeBytes { record.set(pointer.field, .text, bytes: $0) }
        }
        try next.visit(record: record, of: collection)
    }
}

/// Whether a restore would accept a backup's archive, judged by the names in it and by the export's list of media files. Reads no
/// file of the archive.
public struct ArchiveProbe {
    private let definition: AppDefinition

    public init(_ definition: AppDefinition) { self.definition = definition }

    /// - Parameters:
    ///   - source: a ZIP archive.
    ///   - exportPath: the export in it.
    ///   - hasMedia: whether the backup has media.
    /// - Throws: the errors of a restore: `invalidContent`, `tooLarge`, …
    public func run(_ source: ImportSource, exportPath: String, hasMedia: Bool = false) throws(BackupError) {
        var archive = try ArchiveImport(source, .zip, definition: definition, freeSpaceBytes: .max)
        if hasMedia { try archive.requireMedia() }
        try archive.requireDepth()
        guard definition.describesMedia else { return }
        // The values are not checked here.
        let wire = try WireImport(
            SharedFile(path: exportPath), definition: definition, limitsMetadata: false, acceptsValues: true)
        let manifest = ManifestVisitor(wire.reader.definition)
        try wire.reader.visit(with: manifest)
        _ = try archive.place(
            manifest.entries, isComplete: manifest.listsAllFiles, pointer: MediaPointer(wire.reader.definition))
    }
}

/// Whether a file that is still being written is complete: its JSON is closed, its archive has its end, its database all its
/// pages. A complete file may still be invalid.
public enum CompletenessCheck {
    /// Reads JSON to its end, and of the other formats the directory or the header.
    public static func isComplete(_ path: String) -> Bool {
        do {
            let file = try SharedFile(path: path)
            switch try DroppedFormat.detect(file) {
            case .json:
                let tokenizer = JSONTokenizer(file)
                while try tokenizer.next() != .end {}
                return true
            case .zip:
                var limits = ArchiveLimits(totalSizeBytes: .max)
                limits.acceptsLongNames = true
                _ = try ArchiveReader(zip: file, size: file.size, limits: limits)
                return true
            case .tar:
                var limits = ArchiveLimits(totalSizeBytes: .max)
                limits.acceptsSymbolicLinks = true
                limits.acceptsLongNames = true
                _ = try ArchiveReader(tar: file, size: file.size, limits: limits)
                return true
            case .sqlite:
                guard let header = try SQLiteHeader(of: file), header.pageCount > 0 else { return false }
                return UInt64(header.pageCount) * UInt64(header.pageSizeBytes) == file.size
            }
        } catch {
            return false
        }
    }
}
