import AppData
import BackupCore
import BackupRepository
import Export

/// `changes.json`: records and files that were added, changed and removed since the previous snapshot. Counts are exact; it lists the first 10,000 of each
/// kind.
struct ChangesDocument {
    let json: OrderedJSON
    /// Collections whose changes are unknown (`null` in the document): a key is missing, is neither a whole number nor a text, or occurs twice.
    let incomparable: [String]

    /// - Parameters:
    ///   - parent: the previous snapshot; without one, everything counts as added.
    ///   - entries: the new snapshot's entries so far.
    ///   - records: the new collections.
    ///   - writer: the backup's writer, which publishes its chunk lists when they must be read.
    init(
        from parent: Snapshot?, to entries: [TreeEntry], _ records: StoredRecords, _ definition: AppDefinition,
        _ writer: BackupWriter, in repository: Repository
    ) throws(BackupError) {
        var oldRoot: Directory?
        if let parent { oldRoot = try repository.rootDirectory(of: parent) }
        let newRoot = try Directory(entries: entries)
        let oldData = try Self.folder("data", in: oldRoot, repository)

        var collections = Comparisons()
        for new in records.collections {
            let name = new.collection
            let old = oldData?.entry(named: new.entry.name)
            if let old, old.checksums == new.entry.checksums {
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
                return try CollectionComparison.compare(
                    old: StoredSource(try repository.extents(of: old.content), in: repository), new: new.source, knownKey: key,
                    commonRanges: try repository.commonRanges(old: old.content, new: new.entry.content))
            }
        }

        // In another wire format a collection may not exist.
        let known = Set(records.collections.map(\.collection))
        for old in oldData?.entries ?? [] where old.kind == .file && old.name.description.hasSuffix(".json") {
            let name = String(old.name.description.dropLast(5))
            guard !known.contains(name) else { continue }
            try collections.append(name) { () throws(BackupError) in
                try CollectionComparison.compare(
                    old: StoredSource(try repository.extents(of: old.content), in: repository), new: nil,
                    knownKey: definition.keyName(ofCollection: name))
            }
        }

        incomparable = collections.incomparable
        var media = TreeComparison(repository: repository)
        try media.compare(
            Self.folder("media", in: oldRoot, repository), Self.folder("media", in: newRoot, repository), prefix: [])
        json = .members([
            "since": parent.map { .members(["id": .text($0.id.hexadecimal), "name": .text($0.name.description)]) } ?? .null,
            "records": .object(collections.members),
            "files": Self.describe(media),
        ])
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
        func keys(_ changes: CollectionComparison.Changes?) -> OrderedJSON {
            .array((changes?.keys ?? []).map { .key($0) })
        }
        return .members([
            "added": .integer(comparison?.added.count ?? 0), "changed": .integer(comparison?.changed.count ?? 0),
            "removed": .integer(comparison?.removed.count ?? 0), "addedKeys": keys(comparison?.added),
            "changedKeys": keys(comparison?.changed), "removedKeys": keys(comparison?.removed),
        ])
    }

    private static func describe(_ comparison: TreeComparison) -> OrderedJSON {
        func paths(_ changes: TreeComparison.Changes) -> OrderedJSON {
            .array(changes.paths.map { .text(FileName(bytes: $0).description) })
        }
        return .members([
            "added": .integer(comparison.added.count), "changed": .integer(comparison.changed.count),
            "removed": .integer(comparison.removed.count), "addedPaths": paths(comparison.added),
            "changedPaths": paths(comparison.changed), "removedPaths": paths(comparison.removed),
        ])
    }
}

extension OrderedJSON {
    static func key(_ key: JSONKey) -> OrderedJSON {
        switch key {
        case .integer(let number): .integer(number)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        }
    }
}
