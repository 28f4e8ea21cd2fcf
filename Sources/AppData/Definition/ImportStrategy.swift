/// What a restore does with existing data.
public enum ImportStrategy: String, Sendable, CaseIterable {
    /// Deletes all of it, and inserts the file's data.
    case replace
    /// Adds missing records; existing ones get the file's values, unless the collection says otherwise.
    case merge
    /// Adds missing records; existing ones stay unchanged.
    case skip
}
