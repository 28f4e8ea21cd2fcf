import BackupCore

/// The errors of the reader. The message is for the user who chose the file; the finding says exactly what is wrong.
enum ArchiveFailure {
    /// Not a ZIP archive at all.
    static func notAnArchive(_ finding: Message) -> BackupError {
        BackupError(.invalidContent, "Invalid file format. Please select a valid backup file.", findings: [finding])
    }

    /// An archive that is truncated, modified, or contradictory.
    static func damaged(_ finding: Message) -> BackupError {
        BackupError(.damagedContent, "This backup file is corrupted and cannot be restored.", findings: [finding])
    }

    /// An intact archive with content that is never accepted.
    static func refused(_ finding: Message) -> BackupError {
        BackupError(.invalidContent, "Import failed: \(finding)", findings: [finding])
    }

    /// Over a limit that guards against decompression bombs.
    static func tooLarge(_ finding: Message) -> BackupError {
        BackupError(.tooLarge, "Import failed: \(finding)", findings: [finding])
    }

    /// A quoted name for a message.
    static func quoted(_ name: some Collection<UInt8>) -> String { "\"\(MessageText.name(name))\"" }
}
