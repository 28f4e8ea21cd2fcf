import AppData
import BackupCore
import BackupRepository
import Export

/// `changes.json`: records and files that were added, changed and removed since the snapshot before. Counts are exact; of each kind the
/// first 10,000 are named.
struct ChangesDocument {
    let json: OrderedJSON

    /// - Parameters:
    ///   - parent: the snapshot before; everything is added without one.
    ///   - entries: the new snapshot's files so far.
    ///   - records: the new collections.
    ///   - writer: the backup's: its lists of chunks are published when they must be read.
    init(
        from parent: Snapshot?, to entries: [TreeEntry], _ records: StoredRecords, _ definition: AppDefinition,
        _ writer: BackupWriter, in repository: Repository
    ) throws(BackupError) {
        var oldRoot: Directory?
        if let parent { oldRoot = try repository.rootDirectory(of: parent) }
        let newRoot = try Directory(entries: entries)
        let oldData = try Self.folder("data", in: oldRoot, repository)

        var collections: [OrderedJSON.Member] = []
        for new in records.collections {
            let name = new.collection
            let old = oldData?.entry(named: new.entry.name)
            let comparison: CollectionComparison?
            if let old, old.checksums == new.entry.checksums {
                comparison = nil
            } else {
                let key = definition.keyName(ofCollection: name)
                if let old {
                    if new.entry.content.hasLists { try writer.publishChunks() }
                    comparison = try CollectionComparison.compare(
                        old: StoredSource(try repository.extents(of: old.content), in: repository), new: new.source,
                        knownKey: key,
                        commonRanges: try repository.commonRanges(old: old.content, new: new.entry.content))
                } else {
                    comparison = try CollectionComparison.compare(
                        old: nil, new: new.source, knownKey: key,
                        newCount: records.facts.counts.first { $0.name == name }?.count)
                }
            }
            collections.append(.init(name, Self.describe(comparison)))
        }

        // In another wire format a collection may be none.
        let known = Set(records.collections.map(\.collection))
        for old in oldData?.entries ?? [] where old.kind == .file && old.name.description.hasSuffix(".json") {
            let name = String(old.name.description.dropLast(5))
            guard !known.contains(name) else { continue }
            let all = try CollectionComparison.compare(
                old: StoredSource(try repository.extents(of: old.content), in: repository), new: nil,
                knownKey: definition.keyName(ofCollection: name))
            collections.append(.init(name, Self.describe(all)))
        }

        var media = TreeComparison(repository: repository)
        try media.compare(
            Self.folder("media", in: oldRoot, repository), Self.folder("media", in: newRoot, repository), prefix: [])
        json = .members([
            "since": parent.map { .members(["id": .text($0.id.hexadecimal), "name": .text($0.name.description)]) } ?? .null,
            "records": .object(collections),
            "files": Self.describe(media),
        ])
    }

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
