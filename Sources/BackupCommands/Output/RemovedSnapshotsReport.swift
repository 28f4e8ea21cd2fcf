import BackupCore
import BackupRepository
import Export
import Operations
import SystemIO

/// Lists the removed backups that can be brought back, in order of removal.
enum RemovedSnapshotsReport {
    static func say(_ store: Store, isJSON: Bool) throws(BackupError) {
        let removed = try store.repository.removedSnapshots()
        let grace = try store.removalGrace()
        if isJSON {
            Terminal.say(OrderedJSON.array(removed.map { describe($0, grace, in: store) }).prettyText)
        } else if removed.isEmpty {
            Terminal.say("No removed backups.")
        } else {
            let rows = removed.map { one in
                [
                    one.snapshot.id.hexadecimal.prefix(12).description, one.snapshot.name.description,
                    Terminal.time(one.snapshot.creationTime), one.removalTime.map { Terminal.time($0) } ?? "unknown",
                    Terminal.time(grace.end(of: one)),
                    ByteCount.text(one.snapshot.record.root.totals.byteCount),
                    store.owns(one.snapshot) ? "" : one.snapshot.source?.short ?? "",
                ]
            }
            Terminal.say(verbatim: Table.text(["ID", "Name", "Created", "Removed", "Stays until", "Size", "Source"], rows))
        }
    }

    private static func describe(_ removed: RemovedSnapshot, _ grace: RemovalGrace, in store: Store) -> OrderedJSON {
        let snapshot = removed.snapshot
        return .members([
            "name": .text(snapshot.name.description), "id": .text(snapshot.id.hexadecimal),
            "createdAt": .text(ISO8601.format(snapshot.creationTime.wholeSeconds)),
            "removedAt": .optional(removed.removalTime.map { ISO8601.format($0.wholeSeconds) }),
            "staysUntil": .text(ISO8601.format(grace.end(of: removed).wholeSeconds)),
            "source": .optional(snapshot.source?.hexadecimal), "own": .boolean(store.owns(snapshot)),
            "sizeBytes": .integer(snapshot.record.root.totals.byteCount),
        ])
    }
}
