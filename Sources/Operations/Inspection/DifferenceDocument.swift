import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// The differences between two backups, or between a backup and the current data: `backupfs diff`. Counts are exact; the first
/// changes of each kind are listed with their values.
public struct DifferenceDocument: Sendable {
    /// The name for the app's current data.
    public static let liveName = "live"
    /// The highest number of changes of one kind that can be listed.
    public static let limit = CollectionComparison.keyLimit

    /// What happened from the first state to the second; the raw value is its name in JSON.
    public enum Change: String, Sendable { case added, changed, removed }

    /// A record that is not the same in both states.
    public struct RecordChange: Sendable {
        public let change: Change
        public let key: JSONKey
        /// The members that differ.
        public let fields: [FieldChange]
    }

    /// The differences in one collection.
    public struct Collection: Sendable {
        /// The collection's name in the export.
        public let name: String
        /// By kind of change.
        public let counts: [Change: Int]
        /// Up to the limit of each kind.
        public let changes: [RecordChange]
    }

    /// What a listing shows of a file.
    public struct FileState: Sendable {
        /// Size in bytes.
        public let size: UInt64
        /// As the file system has it.
        public let modificationTime: Timestamp
    }

    /// A file that is not the same in both states.
    public struct FileDifference: Sendable {
        public let change: Change
        /// Below the folder of the backup.
        public let path: FileName
        /// `nil` for an added file.
        public let old: FileState?
        /// `nil` for a removed file.
        public let new: FileState?
    }

    /// In the definition's order.
    public let collections: [Collection]
    /// By kind of change.
    public let fileCounts: [Change: Int]
    /// Up to the limit of each kind.
    public let files: [FileDifference]
    public let json: OrderedJSON

    /// Whether both states are the same, records and files.
    public var isEmpty: Bool { fileCounts.isEmpty && collections.allSatisfy { $0.counts.isEmpty } }

    /// - Parameters:
    ///   - old, new: names of backups, `latest`, or `live`.
    ///   - limit: how many changes of each kind to list, per collection and for the files.
    /// - Throws: `notFound`; `damagedContent`, `repositoryDamaged` when one side cannot be read.
    public init(of store: Store, from old: String, to new: String, limit: Int) throws(BackupError) {
        let limit = min(max(0, limit), Self.limit)
        let before = try Self.state(old, store)
        let after = try Self.state(new, store)
        let hasLiveSide = before.snapshot == nil || after.snapshot == nil
        var collections: [Collection] = []
        for name in Self.names(before, after, store.definition) {
            let key = store.definition.keyName(ofCollection: name)
            let unknown = hasLiveSide ? store.definition.checksumFieldNames(ofCollection: name) : []
            do {
                collections.append(
                    try Self.compare(
                        name, before.collections[name], after.collections[name], key: key, ignoredFields: unknown, limit: limit))
            } catch {
                throw error.at("data/\(name).json")
            }
        }
        self.collections = collections
        var comparison = FileComparison(limit: limit)
        try comparison.compare(before.files, after.files)
        fileCounts = comparison.counts
        files = comparison.differences.map {
            FileDifference(
                change: $0.change, path: FileName(bytes: $0.path), old: $0.old.map(Self.state),
                new: $0.new.map(Self.state))
        }
        json = DifferenceJSON.document(
            from: before.snapshot, to: after.snapshot, collections: collections, fileCounts: fileCounts, files: files)
    }

    private static func state(_ name: String, _ store: Store) throws(BackupError) -> ComparedState {
        name == liveName ? try ComparedState(liveDataOf: store) : try ComparedState(store.anySnapshot(named: name), of: store)
    }

    private static func state(_ file: ComparedFile) -> FileState {
        FileState(size: file.size, modificationTime: file.modificationTime)
    }

    /// The definition's collections, then those that are only in an older definition.
    private static func names(_ old: ComparedState, _ new: ComparedState, _ definition: AppDefinition) -> [String] {
        let present = Set(old.collections.keys).union(new.collections.keys)
        var known: [String] = []
        for name in definition.formats.flatMap({ $0.collections.map(\.name) }) where !known.contains(name) { known.append(name) }
        return known.filter { present.contains($0) } + present.subtracting(known).sorted()
    }

    private static func compare(
        _ name: String, _ old: ComparedState.Collection?, _ new: ComparedState.Collection?, key: String?,
        ignoredFields: Set<String>, limit: Int
    ) throws(BackupError) -> Collection {
        if let old, let new, try old.file.hasContent(of: new.file) { return Collection(name: name, counts: [:], changes: []) }
        var commonRanges: [CommonRange] = []
        if let old, let new { commonRanges = try new.file.commonRanges(with: old.file) }
        let comparison = try CollectionComparison.compare(
            old: old?.source, new: new?.source, knownKey: key, ignoredFields: ignoredFields, commonRanges: commonRanges)
        let kinds: [(Change, CollectionComparison.Changes)] = [
            (.added, comparison.added), (.changed, comparison.changed), (.removed, comparison.removed),
        ]
        let told = kinds.map { ($0, Array($1.keys.prefix(limit))) }
        func details(_ side: ComparedState.Collection?, but change: Change) throws(BackupError) -> RecordDetails {
            try RecordDetails(
                of: Set(told.filter { $0.0 != change }.flatMap(\.1)), in: side?.source,
                key: CollectionComparison.key(of: side?.source, key) ?? "id", ignoredFields: ignoredFields)
        }
        let before = try details(old, but: .added)
        let after = try details(new, but: .removed)
        var changes: [RecordChange] = []
        for (change, keys) in told {
            for key in keys {
                changes.append(
                    RecordChange(change: change, key: key, fields: RecordDetails.changes(key, from: before, to: after)))
            }
        }
        let counts = kinds.filter { $0.1.count > 0 }.map { ($0.0, $0.1.count) }
        return Collection(name: name, counts: Dictionary(uniqueKeysWithValues: counts), changes: changes)
    }
}

/// A difference as `diff --json` prints it.
enum DifferenceJSON {
    private typealias Change = DifferenceDocument.Change

    static func document(
        from old: Snapshot?, to new: Snapshot?, collections: [DifferenceDocument.Collection],
        fileCounts: [DifferenceDocument.Change: Int], files: [DifferenceDocument.FileDifference]
    ) -> OrderedJSON {
        [
            "from": side(old), "to": side(new),
            "records": OrderedJSON.object(
                collections.map { .init($0.name, describe($0.counts, $0.changes.map(describe))) }),
            "files": describe(fileCounts, files.map(describe)),
        ]
    }

    private static func side(_ snapshot: Snapshot?) -> OrderedJSON {
        guard let snapshot else { return ["name": DifferenceDocument.liveName, "id": OrderedJSON.null] }
        return ["name": snapshot.name, "id": snapshot.id]
    }

    private static func describe(_ counts: [Change: Int], _ changes: [OrderedJSON]) -> OrderedJSON {
        [
            "added": counts[.added] ?? 0, "changed": counts[.changed] ?? 0, "removed": counts[.removed] ?? 0, "changes": changes,
        ]
    }

    private static func describe(_ record: DifferenceDocument.RecordChange) -> OrderedJSON {
        ["change": record.change.rawValue, "key": record.key, "fields": record.fields.map(describe)]
    }

    private static func describe(_ field: FieldChange) -> OrderedJSON {
        var members: [OrderedJSON.Member] = [.init("field", field.name)]
        if let old = field.old { members.append(.init("old", .written(old.value))) }
        if let new = field.new { members.append(.init("new", .written(new.value))) }
        if field.old?.isShortened == true || field.new?.isShortened == true { members.append(.init("shortened", true)) }
        return .object(members)
    }

    private static func describe(_ file: DifferenceDocument.FileDifference) -> OrderedJSON {
        var members: [OrderedJSON.Member] = [.init("change", file.change.rawValue), .init("path", file.path)]
        for (name, state) in [("old", file.old), ("new", file.new)] {
            guard let state else { continue }
            members.append(.init(name + "_size", state.size))
            members.append(.init(name + "_time", state.modificationTime))
        }
        return .object(members)
    }
}
