import AppData
import BackupCore

/// What a restore did with records and media, or would do.
public struct RestoreOutcome: Sendable, Equatable {
    public let records: ImportOutcome
    /// `nil` when the file has no media, or the app has none.
    public let media: MediaOutcome?

    /// Notes that the definition asks for, as warnings.
    var notes: [Message] {
        let count = records.furtherNoteCount
        return records.notes + (count > 0 ? ["\(count) more of the same kind."] : []) + [media?.incomplete].compactMap(\.self)
    }
}
