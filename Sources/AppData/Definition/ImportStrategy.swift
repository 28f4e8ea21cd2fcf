/// What a restore does with data that is there already.
public enum ImportStrategy: String, Sendable, CaseIterable {
    /// All of it goes, the file's data comes.
    case replace
    /// Records with the same key are taken from the file.
    case merge
    /// Records with the same key stay as they are.
    case skip
}
