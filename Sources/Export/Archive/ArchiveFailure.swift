import BackupCore

/// The errors of the reader. The message is for the person who chose the file; the finding says exactly what is wrong.
enum ArchiveFailure {
    /// Not a ZIP archive at all.
    static func notAnArchive(_ finding: Message) -> BackupError {
        BackupError(.invalidContent, "Invalid file format. Please select a valid backup file.", findings: [finding])
    }

    /// An archive that is cut off, changed, or contradicts itself.
    static func damaged(_ finding: Message) -> BackupError {
        BackupError(.damagedContent, "This backup file is corrupted and cannot be restored.", findings: [finding])
    }

    /// A whole archive with something in it that is never accepted.
    static func refused(_ finding: Message) -> BackupError {
        BackupError(.invalidContent, "Import failed: \(finding)", findings: [finding])
    }

    /// Over a limit that guards against bombs.
    static func tooLarge(_ finding: Message) -> BackupError {
        BackupError(.tooLarge, "Import failed: \(finding)", findings: [finding])
    }

    /// A name for a message, in quotes.
    static func quoted(_ name: some Collection<UInt8>) -> String { "\"\(MessageText.name(name))\"" }
}
