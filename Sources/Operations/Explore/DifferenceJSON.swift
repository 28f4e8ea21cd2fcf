import BackupCore
import BackupRepository
import Export
import SystemIO

/// A difference as `diff --json` prints it.
enum DifferenceJSON {
    private typealias Change = DifferenceDocument.Change

    static func document(
        from old: Snapshot?, to new: Snapshot?, collections: [DifferenceDocument.Collection],
        fileCounts: [DifferenceDocument.Change: Int], files: [DifferenceDocument.FileDifference]
    ) -> OrderedJSON {
        .members([
            "from": side(old), "to": side(new),
            "records": .object(
                collections.map { collection in
                    OrderedJSON.Member(
                        collection.name,
                        .object(counts(collection.counts) + [.init("changes", .array(collection.changes.map(describe)))]))
                }),
            "files": .object(counts(fileCounts) + [.init("changes", .array(files.map(describe)))]),
        ])
    }

    private static func side(_ snapshot: Snapshot?) -> OrderedJSON {
        guard let snapshot else { return .members(["name": .text(DifferenceDocument.liveName), "id": .null]) }
        return .members(["name": .text(snapshot.name.description), "id": .text(snapshot.id.hexadecimal)])
    }

    private static func counts(_ counts: [Change: Int]) -> [OrderedJSON.Member] {
        [Change.added, .changed, .removed].map { .init($0.rawValue, .integer(counts[$0] ?? 0)) }
    }

    private static func describe(_ record: DifferenceDocument.RecordChange) -> OrderedJSON {
        .members([
            "change": .text(record.change.rawValue), "key": .key(record.key), "fields": .array(record.fields.map(describe)),
        ])
    }

    private static func describe(_ field: FieldChange) -> OrderedJSON {
        var members: [OrderedJSON.Member] = [.init("field", .text(field.name))]
        if let old = field.old { members.append(.init("old", .written(old.value))) }
        if let new = field.new { members.append(.init("new", .written(new.value))) }
        if field.old?.isShortened == true || field.new?.isShortened == true { members.append(.init("shortened", .boolean(true))) }
        return .object(members)
    }

    private static func describe(_ file: DifferenceDocument.FileDifference) -> OrderedJSON {
        var members: [OrderedJSON.Member] = [
            .init("change", .text(file.change.rawValue)), .init("path", .text(file.path.description)),
        ]
        for (name, state) in [("old", file.old), ("new", file.new)] {
            guard let state else { continue }
            members.append(.init(name + "Size", .integer(state.size)))
            members.append(.init(name + "Time", .text(ISO8601.format(state.modificationTime))))
        }
        return .object(members)
    }
}
