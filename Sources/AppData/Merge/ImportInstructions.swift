import BackupCore

/// How an import is to be done.
public struct ImportInstructions {
    public var strategy: ImportStrategy
    /// Number of records for each collection of the file, as a validation before has counted them.
    public var expectedCounts: [Int]?
    /// The version of the file, if it is known: what a file of an older version does not have, it may not have known.
    public var fileVersion: Int?
    /// Left behind in the transaction, so that `AppDatabase.restoreMarker` tells after a crash whether it had committed.
    public var marker: RestoreMarker?
    /// Where a file of its own can be made for keys and identities: they are as many as there are records. Removed afterwards. Without it
    /// SQLite chooses a place.
    public var scratchPath: String?
    /// New names of media files that records name.
    public var mediaNames: MediaNames?

    /// The rows of the backup that is restored, which a replacement copies as they are; `nil` when the file is none of the store's own backups.
    public var rows: BackupRows?

    /// Whether settings are restored; `nil` for what the definition says.
    public var restoresSettings: Bool?

    /// Whether the settings of a file take the place of those that are there.
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
