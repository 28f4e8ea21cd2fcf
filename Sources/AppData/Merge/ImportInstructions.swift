import BackupCore

/// How to perform an import.
public struct ImportInstructions {
    public var strategy: ImportStrategy
    /// Number of records per collection of the file, as counted by an earlier validation.
    public var expectedCounts: [Int]?
    /// The version of the file, if known: a file of an older version may lack members that it could not know.
    public var fileVersion: Int?
    /// Written in the transaction, so that `AppDatabase.restoreMarker` shows after a crash whether it had committed.
    public var marker: RestoreMarker?
    /// Where to create a file for keys and identities, whose number grows with the records. Removed afterwards. If `nil`, SQLite chooses a place.
    public var scratchPath: String?
    /// New names of media files, for the records that name these.
    public var mediaNames: MediaNames?

    /// The rows of the restored backup, which a replacement copies unchanged; `nil` when the file is not from one of the store's own backups.
    public var rows: BackupRows?

    /// Whether settings are restored; `nil` to follow the definition.
    public var restoresSettings: Bool?

    /// Whether the settings of a file replace the existing ones.
    func takesSettings(_ definition: AppDefinition) -> Bool {
        guard let settings = definition.settings else { return false }
        switch strategy {
        case .replace: return restoresSettings ?? (settings.onReplace == .update)
        case .merge: return restoresSettings ?? (settings.onMerge == .update)
        case .skip: return restoresSettings ?? false
        }
    }

    public init(strategy: ImportStrategy) { self.strategy = strategy }
}
