import BackupCore
import BackupRepository
import Export

/// Values of the app's records that its export cannot hold as they are: texts that are not UTF-8, infinite numbers, and what is not of its field's kind.
/// `database.sqlite` of the backup has them.
struct InexactValues: Sendable {
    /// The attribute of a backup's record that says how many there are; missing where there are none.
    private static let attribute = "inexact-values"
    /// In a message.
    private static let shownCount = 5

    let count: Int
    /// Where the first ones are; none when an earlier backup's export was taken over.
    let places: [String]

    /// `nil` when the export has every value.
    init?(_ statistics: WireStatistics) {
        guard statistics.anomalyCount > 0 else { return nil }
        count = statistics.anomalyCount
        places = Array(statistics.anomalies.prefix(Self.shownCount))
    }

    /// Of a backup that was made; `nil` when its export has every value.
    init?(of snapshot: Snapshot?) {
        guard let count = snapshot?.record.attributes[Self.attribute].flatMap({ Int($0) }), count > 0 else { return nil }
        self.count = count
        places = []
    }

    var attributes: [String: String] { [Self.attribute: String(count)] }

    private var list: String { places.isEmpty ? "" : ": " + places.map { MessageText.shortened($0) }.joined(separator: "; ") }

    /// What a backup says that holds them.
    var warning: Message {
        .plural(
            count, one: "the export cannot hold \(count) value as it is; database.sqlite has it\(list)",
            other: "the export cannot hold \(count) values as they are; database.sqlite has them\(list)")
    }

    /// What a restore says when the data that it replaces has them.
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
