import BackupCore

/// The source document's exact words.
public enum ImportMessages {
    public static let invalidFormat: Message = "Invalid file format. Please select a valid backup file."
    public static let incompatibleVersion: Message = "This backup is from an incompatible version of the app."
    public static let newerVersion: Message =
        "This backup was created with a newer version of the app. Import may fail or cause data loss."
    public static let muchOlderVersion: Message =
        "This backup was created with a much older version of the app. Some data may be converted."
    public static let deletesEverything: Message = "Importing will DELETE ALL existing data. This cannot be undone."
    public static let restoringPreviousData: Message = "Import failed. Restoring previous data..."
    public static let corruptedFile: Message = "This backup file is corrupted and cannot be restored."

    /// For an archive that was verified but could not be unpacked.
    public static func extractionFailure(_ reason: Message) -> Message { "Failed to extract backup: \(reason)" }
    /// Its English beginning, by which errors are compared.
    public static let extractionFailureStart = "Failed to extract backup: "

    /// `Import failed: expense 1 refers to unknown car 99`.
    public static func failure(_ reason: Message) -> Message { "Import failed: \(reason)" }
}
