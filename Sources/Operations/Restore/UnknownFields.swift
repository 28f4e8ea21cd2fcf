import AppData
import BackupCore

/// Fields of a backup that the app's definition no longer names: it did when the backup was made, and a restore would drop them.
enum UnknownFields {
    private static let shownCount = 5

    /// - Returns: `nil` if there are none.
    static func problem(_ summary: ImportSummary, _ definition: AppDefinition) -> Message? {
        // A database whose tables no definition describes has its own rule for missing columns; the export's metadata is not data.
        guard !definition.coversWholeDatabase else { return nil }
        let metadata = definition.metadata.name + "."
        let unknown = summary.unknownFields.filter { !$0.key.hasPrefix(metadata) }.sorted { $0.key < $1.key }
        guard !unknown.isEmpty else { return nil }
        let shown =
            unknown.prefix(shownCount).map { "\($0.key) (\($0.value))" } + (unknown.count > shownCount ? ["…"] : [])
        return
            "the app's definition does not know these fields of the backup: \(MessageText.shortened(shown.joined(separator: ", ")))"
    }
}
