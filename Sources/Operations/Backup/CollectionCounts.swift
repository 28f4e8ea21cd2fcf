import BackupRepository
import Formats

/// How many records of each collection a backup has, in an attribute of its record: a JSON object,
/// `{"cars":2,"expenses":1200}`. So a plot over many backups needs nothing but their records.
struct CollectionCounts {
    /// Names of collections can be those of an app's tables, of any number and length. A record has a limit.
    private static let sizeLimitBytes = 4_096

    /// In the order of the app's definition.
    let counts: [(name: String, count: UInt64)]

    /// The attribute's value; `nil` if it would be too long. `manifest.json` has all of them.
    static func text(_ counts: [RecordCount]) -> String? {
        let text = OrderedJSON.object(counts.map { .init($0.name, $0.count) }).compactText
        return text.count <= sizeLimitBytes ? String(decoding: text, as: UTF8.self) : nil
    }

    /// - Returns: `nil` for a backup that does not say so: one of an older program, or of an app with very many collections.
    init?(of snapshot: Snapshot) {
        guard let text = snapshot.record.attributes[Snapshot.recordCountsAttribute] else { return nil }
        let members = JSONMembers(text.utf8)
        guard members.isFlat else { return nil }
        counts = members.names.compactMap { name in members.number(name).map { (name, $0) } }
    }
}
