import BackupCore

extension AppDefinition {
    /// The properties that all wire formats of an app share.
    struct Common {
        let name: String
        let title: String
        let fileNames: FileNamePatterns
        let media: MediaDefinition?
        let archiveLayout: ArchivePathMap
        let migrations: [MigrationDefinition]
        let schedule: Schedule
        let retention: RetentionDefinition
        /// The default first.
        let strategies: [ImportStrategy]
        let legacyFiles: [LegacyFile]
        let backupPhases: [BackupPhase]
        let statusBlocks: [StatusBlock]
        let announcements: Announcements
        let digest: SHA256Digest
    }
}
