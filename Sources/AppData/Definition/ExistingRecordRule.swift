/// What `merge` does with what is there already.
public enum ExistingRecordRule: String, Sendable, CaseIterable {
    /// The file's values win.
    case update
    /// It stays as it is.
    case keep
}
