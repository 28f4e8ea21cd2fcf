import AppData
import BackupCore
import BackupRepository

/// Values of a backup's records that the app's definition does not allow, so that some restores would refuse them. A backup reports them when it is made.
struct RefusedValues: Sendable {
    /// Attributes of a backup's record: the number of such values, absent if there are none; and whether its rows cannot be copied unchanged.
    private static let countAttribute = "disallowed-values"
    private static let withoutRowsAttribute = "disallowed-values-without-rows"

    let values: DisallowedValues
    /// Whether a restore can copy the rows of the backup's database, whatever their values.
    let comesWithRows: Bool

    /// Checks the records of a backup's database.
    /// - Returns: `nil` when a restore would accept all of them.
    init?(of database: AppDatabase) throws(BackupError) {
        // The rows of a database that no definition describes are copied, and have no rules.
        guard !database.definition.coversWholeDatabase else { return nil }
        do throws(BackupError) {
            guard let found = try database.disallowedValues() else { return nil }
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
