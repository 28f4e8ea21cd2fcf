/// The source document's words, to the letter.
public enum ImportMessages {
    public static let invalidFormat = "Invalid file format. Please select a valid backup file."
    public static let incompatibleVersion = "This backup is from an incompatible version of the app."
    public static let newerVersion =
        "This backup was created with a newer version of the app. Import may fail or cause data loss."
    public static let muchOlderVersion =
        "This backup was created with a much older version of the app. Some data may be converted."
    public static let deletesEverything = "Importing will DELETE ALL existing data. This cannot be undone."
    public static let restoringPreviousData = "Import failed. Restoring previous data..."
    public static let corruptedFile = "This backup file is corrupted and cannot be restored."

    /// `Import failed: expense 1 refers to unknown car 99`.
    public static func failure(_ reason: String) -> String { "Import failed: \(reason)" }
}
