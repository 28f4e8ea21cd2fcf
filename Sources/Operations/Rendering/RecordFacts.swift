import AppData
import BackupCore
import BackupRepository
import Formats

/// Facts about the records at one instant.
struct RecordFacts: Sendable {
    /// The app's definition, in the wire format of the data.
    let definition: AppDefinition
    let counts: [RecordCount]
    let appVersion: String
    let deviceName: String
    /// Files that records name but that do not exist.
    let missingFiles: MissingFiles
    /// Data that is only in `database.sqlite`, and that a restore would lose.
    let unexported: UnexportedData?
    /// Why no restore could write to the database; `nil` when one could.
    let triggerProblem: Message?

    /// - Parameters:
    ///   - knownCounts: the number of records of collections, by their names, of this state of the database: counting reads
    ///     their tables.
    ///   - isAllExported: whether it is known of this state of the database that its export lacks nothing: a look for values in
    ///     columns that the definition does not name reads their tables, too.
    init(
        of snapshot: DatabaseSnapshot, knownCounts: [String: Int] = [:], isAllExported: Bool = false
    ) throws(BackupError) {
        definition = snapshot.definition
        counts = try snapshot.counts(known: knownCounts)
        missingFiles = try snapshot.missingFiles()
        unexported = isAllExported ? nil : try snapshot.unexportedData()
        triggerProblem = try snapshot.triggerProblem()
        appVersion = try snapshot.metadataText("appVersion") ?? "unknown"
        deviceName = try snapshot.metadataText("deviceName") ?? "unknown"
    }

    /// The total over all collections.
    var recordCount: Int { counts.reduce(0) { $0 + $1.count } }
}

/// The stored records of one backup.
struct StoredRecords {
    /// One collection: its file in the folder `data`, and a source for its bytes while the backup runs.
    struct Collection {
        /// The name on the wire.
        let collection: String
        let entry: TreeEntry
        let source: any ByteSource
    }

    let facts: RecordFacts
    /// In the definition's order; empty where the export is not stored.
    let collections: [Collection]
    /// The folder `data`, `database.sqlite` and `export.json`; without an export, the database alone.
    let entries: [TreeEntry]
    /// The state of the database in this backup; `nil` where it cannot be distinguished from the next one.
    let databaseState: String?
    /// Values that the export cannot represent exactly.
    var inexact: InexactValues?
    /// Values that some restores would refuse.
    var refused: RefusedValues?
    /// The damage that SQLite found in the database.
    var damage: String?
}

/// Values of the app's records that its export cannot represent exactly: texts that are not UTF-8, infinite numbers, and values
/// of the wrong type for their field. `database.sqlite` of the backup has them.
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

/// Values of a backup's records that the app's definition does not allow, so that some restores would refuse them. A backup
/// reports them when it is made.
struct RefusedValues: Sendable {
    /// Attributes of a backup's record: the number of such values, absent if there are none; and whether its rows cannot be
    /// copied unchanged.
    private static let countAttribute = "disallowed-values"
    private static let withoutRowsAttribute = "disallowed-values-without-rows"

    let values: DisallowedValues
    /// Whether a restore can copy the rows of the backup's database, whatever their values.
    let comesWithRows: Bool

    /// Checks the records of a backup's database.
    /// - Parameter ranges: the rows that are checked, for collections of which all others are known to be allowed.
    /// - Returns: `nil` when a restore would accept all of them.
    init?(of database: AppDatabase, only ranges: RowRanges = [:]) throws(BackupError) {
        // The rows of a database that no definition describes are copied, and have no rules.
        guard !database.definition.coversWholeDatabase else { return nil }
        do throws(BackupError) {
            guard let found = try database.disallowedValues(only: ranges) else { return nil }
            values = found
        } catch {
            guard error.code == .invalidContent else { throw error }
            values = DisallowedValues(count: max(1, error.findings.count), examples: Array(error.findings.prefix(5)))
            comesWithRows = false
            return
        }
        comesWithRows =
            (try? BackupRows.ofAllRecords(path: database.path, definition: database.definition)).flatMap { $0 } != nil
    }

    /// The values of an existing backup; `nil` when it has none.
    init?(of snapshot: Snapshot?) {
        guard let attributes = snapshot?.record.attributes, let count = attributes[Self.countAttribute].flatMap({ Int($0) }),
            count > 0
        else { return nil }
        values = DisallowedValues(count: count, examples: [])
        comesWithRows = attributes[Self.withoutRowsAttribute] == nil
    }

    var attributes: [String: String] {
        [Self.countAttribute: String(values.count)].merging(comesWithRows ? [:] : [Self.withoutRowsAttribute: "yes"]) { $1 }
    }

    var warning: Message { values.warning(comesWithRows: comesWithRows) }
}
