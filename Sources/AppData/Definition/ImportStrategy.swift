/// What a restore does with data that is there already.
public enum ImportStrategy: String, Sendable, CaseIterable {
    /// All of it goes, the file's data comes.
    case replace
    /// Records that are not there come; those that are get the file's values, unless the collection says otherwise.
    case merge
    /// Records that are not there come; those that are stay as they are.
    case skip
}
