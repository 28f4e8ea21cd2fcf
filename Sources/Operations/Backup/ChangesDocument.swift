import AppData
import BackupCore
import BackupRepository
import Formats

/// `changes.json`: records and files that were added, changed and removed since the previous snapshot. Counts are exact; it lists
/// the first 10,000 of each kind.
struct ChangesDocument {
    let json: OrderedJSON
    /// Collections whose changes are unknown (`null` in the document): a key is missing, is neither a whole number nor a text, or
    /// occurs twice.
    let incomparable: [String]

    /// - Parameters:
    ///   - parent: the previous snapshot; without one, everything counts as added.
    ///   - entries: the new snapshot's entries so far.
    ///   - records: the new collections.
    ///   - writer: the backup's writer, which publishes its chunk lists when they must be read.
    ///   - store: if the previous snapshot does not store its records, they are rendered.
    init(
        from parent: Snapshot?, to entries: [TreeEntry], _ records: StoredRecords, _ definition: AppDefinition,
        _ writer: BackupWriter, for store: Store
    ) throws(BackupError) {
        let repository = store.repository
        var oldRoot: Directory?
        var oldCollections: [SnapshotRecords.Collection] = []
        if let parent {
            oldRoot = try repository.rootDirectory(of: parent)
            oldCollections = try SnapshotRecords(of: parent, in: repository, for: store).collections()
        }
        let newRoot = try Directory(entries: entries)

        var collections = Comparisons()
        for new in records.collections {
            let name = new.collection
            let old = oldCollections.first { $0.name == name }
            if let old, old.file == nil, old.entry.hasSameBytes(as: new.entry) {
                collections.members.append(.init(name, Self.describe(nil)))
                continue
            }
            let key = definition.keyName(ofCollection: name)
            try collections.append(name) { () throws(BackupError) in
                guard let old else {
                    return try CollectionComparison.compare(
                        old: nil, new: new.source, knownKey: key,
                        newCount: records.facts.counts.first { $0.name == name }?.count)
                }
                if new.entry.content.hasLists { try writer.publishChunks() }
                guard old.file == nil else {
                    return try CollectionComparison.compare(old: old.source, new: new.source, knownKey: key)
                }
                return try CollectionComparison.compare(
                    old: old.source, new: new.source, knownKey: key,
                    commonRanges: try repository.commonRanges(old: old.entry.content, new: new.entry.content))
            }
        }

        // In another wire format a collection may not exist.
        let known = Set(records.collections.map(\.collection))
        for old in oldCollections where !known.contains(old.name) {
            try collections.append(old.name) { () throws(BackupError) in
                try CollectionComparison.compare(
                    old: old.source, new: nil, knownKey: definition.keyName(ofCollection: old.name))
            }
        }

        incomparable = collections.incomparable
        var media = TreeComparison(repository: repository)
        try media.compare(
            Self.folder("media", in: oldRoot, repository), Self.folder("media", in: newRoot, repository), prefix: [])
        json = [
            "since": parent.map { ["id": $0.id, "name": $0.name] as OrderedJSON },
            "records": OrderedJSON.object(collections.members), "files": Self.describe(media),
        ]
    }

    private struct Comparisons {
        var members: [OrderedJSON.Member] = []
        var incomparable: [String] = []

        /// An app row without a usable key must not keep its data from being backed up.
        mutating func append(
            _ name: String, _ compare: () throws(BackupError) -> CollectionComparison
        ) throws(BackupError) {
            do throws(BackupError) {
                members.append(.init(name, ChangesDocument.describe(try compare())))
            } catch {
                guard error.code == .damagedContent else { throw error }
                members.append(.init(name, .null))
                incomparable.append(name)
            }
        }
    }

    /// The backup's warning about this.
    var warning: Message? {
        guard !incomparable.isEmpty else { return nil }
        let names = MessageText.list(incomparable, limit: Self.shownCollectionCount)
        return
            "some records cannot be distinguished, since their key is missing, is neither a whole number nor a text, or occurs twice; what changed is not known, and only database.sqlite of the backup is sure to have them. Collections: \(names)"
    }

    private static let shownCollectionCount = 10

    private static func folder(
        _ name: FileName, in root: Directory?, _ repository: Repository
    ) throws(BackupError) -> Directory? {
        guard let entry = root?.entry(named: name), entry.kind == .directory else { return nil }
        return try repository.directory(of: entry)
    }

    private static func describe(_ comparison: CollectionComparison?) -> OrderedJSON {
        [
            "added": comparison?.added.count ?? 0, "changed": comparison?.changed.count ?? 0,
            "removed": comparison?.removed.count ?? 0, "addedKeys": comparison?.added.keys ?? [],
            "changedKeys": comparison?.changed.keys ?? [], "removedKeys": comparison?.removed.keys ?? [],
        ]
    }

    private static func describe(_ comparison: TreeComparison) -> OrderedJSON {
        func paths(_ changes: TreeComparison.Changes) -> [FileName] { changes.paths.map { FileName(bytes: $0) } }
        return [
            "added": comparison.added.count, "changed": comparison.changed.count, "removed": comparison.removed.count,
            "addedPaths": paths(comparison.added), "changedPaths": paths(comparison.changed),
            "removedPaths": paths(comparison.removed),
        ]
    }
}

extension JSONKey: JSONConvertible {
    public var json: OrderedJSON {
        switch self {
        case .integer(let number): .integer(number)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        }
    }
}

/// Which files differ between two stored folders. Folders that are the same object are not walked.
struct TreeComparison {
    /// Paths beyond this number are counted but not listed.
    static let pathLimit = 10_000

    struct Changes {
        var count = 0
        var paths: [[UInt8]] = []

        mutating func add(_ path: [UInt8]) {
            count = count.addingSaturating(1)
            if paths.count < TreeComparison.pathLimit { paths.append(path) }
        }

        /// Counts the content of a folder without reading it, once no more paths are listed.
        /// - Returns: false when it must be walked.
        mutating func addUntold(_ folder: TreeEntry) -> Bool {
            guard paths.count >= TreeComparison.pathLimit, let totals = folder.totals else { return false }
            count = count.addingSaturating(Int(clamping: totals.fileCount)).addingSaturating(
                Int(clamping: totals.symbolicLinkCount))
            return true
        }
    }

    private let repository: Repository
    private(set) var added = Changes()
    private(set) var changed = Changes()
    private(set) var removed = Changes()

    init(repository: Repository) { self.repository = repository }

    mutating func compare(_ old: Directory?, _ new: Directory?, prefix: [UInt8]) throws(BackupError) {
        let names = Set((old?.entries ?? []).map(\.name)).union((new?.entries ?? []).map(\.name)).sorted()
        for name in names {
            try compare(old?.entry(named: name), new?.entry(named: name), path: prefix + name.bytes)
        }
    }

    private mutating func compare(_ old: TreeEntry?, _ new: TreeEntry?, path: [UInt8]) throws(BackupError) {
        let oldFolder = old?.kind == .directory ? old : nil
        let newFolder = new?.kind == .directory ? new : nil
        if oldFolder != nil || newFolder != nil {
            if let oldFolder, let newFolder, oldFolder.content == newFolder.content { return }
            try compareBelow(oldFolder, newFolder, path: path)
        }
        switch (oldFolder == nil ? old : nil, newFolder == nil ? new : nil) {
        case (nil, .some): added.add(path)
        case (.some, nil): removed.add(path)
        case (.some(let old), .some(let new)) where old.kind != new.kind || !old.hasSameBytes(as: new):
            changed.add(path)
        default: break
        }
    }

    /// Compares the folders that one name refers to on both sides.
    private mutating func compareBelow(_ old: TreeEntry?, _ new: TreeEntry?, path: [UInt8]) throws(BackupError) {
        if old == nil, let new, added.addUntold(new) { return }
        if new == nil, let old, removed.addUntold(old) { return }
        var oldDirectory: Directory?
        var newDirectory: Directory?
        if let old { oldDirectory = try repository.directory(of: old) }
        if let new { newDirectory = try repository.directory(of: new) }
        try compare(oldDirectory, newDirectory, prefix: path + [UInt8(ascii: "/")])
    }
}

/// Whether a backup would hold exactly what another one holds.
struct SameContent {
    let repository: Repository

    /// Compares the parts of a backup that is being made with a snapshot: records and files. The export is not compared, since it
    /// contains its creation time. Nor are the collections if this backup does not store them: the database has the same.
    /// Anything unreadable counts as different.
    func isSame(_ parts: BackupParts.Stored, as snapshot: Snapshot) -> Bool {
        guard let earlier = try? repository.rootDirectory(of: snapshot) else { return false }
        let names: [FileName] = ["data", "database.sqlite", "media"]
        return names.allSatisfy { name in
            let now = parts.entries.first { $0.name == name }
            if name == "data", now == nil { return true }
            guard let now, let then = earlier.entry(named: name) else {
                return now == nil && earlier.entry(named: name) == nil
            }
            return name == "data" ? isSameData(parts.records.collections.map(\.entry), then) : isSameEntry(now, then)
        }
    }

    /// The folder's own content includes the times of its files.
    private func isSameData(_ now: [TreeEntry], _ then: TreeEntry) -> Bool {
        guard let then = try? repository.directory(of: then) else { return false }
        func contents(_ entries: [TreeEntry]) -> [FileName: FileContent] {
            Dictionary(entries.map { ($0.name, $0.content) }) { $1 }
        }
        return contents(now) == contents(then.entries)
    }

    /// A file that changed just before the earlier backup was stored without its identity, since a second change might have left
    /// no trace. A newly known identity is not a change.
    private func isSameEntry(_ now: TreeEntry, _ then: TreeEntry) -> Bool {
        guard now.kind == then.kind else { return false }
        if now.metadata != then.metadata { return false }
        if now.content == then.content { return true }
        guard let now = try? repository.directory(of: now), let then = try? repository.directory(of: then),
            now.entries.count == then.entries.count
        else { return false }
        return zip(now.entries, then.entries).allSatisfy { now, then in
            now.name == then.name && now.mode == then.mode && now.modificationTime == then.modificationTime
                && isSameEntry(now, then)
        }
    }
}
