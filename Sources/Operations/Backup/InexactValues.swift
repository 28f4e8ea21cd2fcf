import BackupCore
import BackupRepository
import Export

/// Values of the app's records that its export cannot represent exactly: texts that are not UTF-8, infinite numbers, and values of the wrong type for their
/// field. `database.sqlite` of the backup has them.
struct InexactValues: Sendable {
    /// The attribute in a backup's record with their number; absent if there are none.
    private static let attribute = "inexact-values"
    /// In one message.
    private static let shownCount = 5

    let count: Int
    /// Where the first ones are; empty when the export was taken over from an earlier backup.
    let places: [String]

    /// `nil` when the export has every value.
    init?(_ statistics: WireStatistics) {
        guard statistics.anomalyCount > 0 else { return nil }
        count = statistics.anomalyCount
        places = Array(statistics.anomalies.prefix(Self.shownCount))
    }

    /// The values of an existing backup; `nil` when its export has every value.
    init?(of snapshot: Snapshot?) {
        guard let count = snapshot?.record.attributes[Self.attribute].flatMap({ Int($0) }), count > 0 else { return nil }
        self.count = count
        places = []
    }

    var attributes: [String: String] { [Self.attribute: String(count)] }

    private var list: String { places.isEmpty ? "" : ": " + places.map { MessageText.shortened($0) }.joined(separator: "; ") }

    /// The warning of a backup that holds them.
    var warning: Message {
        .plural(
            count, one: "the export cannot hold \(count) value as it is; database.sqlite has it\(list)",
            other: "the export cannot hold \(count) values as they are; database.sqlite has them\(list)")
    }

    /// The warning of a restore when the data that it replaces has them.
    var restoreWarning: Message {
        .plural(
            count,
            one:
                "The safety backup's export cannot hold \(count) value as it was. To undo the restore, use backupfs restore with its name",
            other:
                "The safety backup's export cannot hold \(count) values as they were. To undo the restore, use backupfs restore with its name"
        )
    }
}
