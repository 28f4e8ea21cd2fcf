/// What `merge` does with existing records.
public enum ExistingRecordRule: String, Sendable, CaseIterable {
    /// The file's values win.
    case update
    /// The existing record stays unchanged.
    case keep
}
