import BackupCore

/// The limits for a foreign archive.
public struct ArchiveLimits: Sendable {
    /// Number of entries.
    public var entryCount = 1_000_000
    /// Length of one name in bytes.
    public var nameSizeBytes = 4_096
    /// Length of all names together in bytes; the reader keeps them in memory.
    public var namesTotalSizeBytes = 64 << 20
    /// Unpacked size of all entries together in bytes.
    public var totalSizeBytes: UInt64
    /// The maximum ratio of the entries' unpacked size to the archive's own size, checked above `ratioFreeSizeBytes`.
    /// DEFLATE reaches 1,032; a database with many empty pages can come near it, but a large one full of data stays far below.
    public var ratio: UInt64 = 200
    /// The ratio is not checked up to this unpacked size in bytes.
    public var ratioFreeSizeBytes: UInt64 = 100 << 20

    /// Accept a backslash in names of archives from Unix, where it is an ordinary character. Elsewhere it separates folders.
    public var acceptsUnixBackslashes = false
    /// Accept symbolic links in archives from Unix; the caller must check their targets. Nothing can be below one.
    public var acceptsSymbolicLinks = false

    /// Accept names longer than a file's limit: the caller must shorten them.
    public var acceptsLongNames = false

    /// For an archive that this program created from files on a disk: it may be equally large, names may be too long for a file,
    /// and a folder of zeros is not a bomb. The reader still keeps at most 2 GiB of names and 2^31 entries.
    public static var ownArchive: ArchiveLimits {
        var limits = ArchiveLimits(totalSizeBytes: .max)
        limits.entryCount = .max
        limits.nameSizeBytes = .max
        limits.namesTotalSizeBytes = .max
        limits.ratio = .max
        limits.acceptsLongNames = true
        return limits
    }

    /// - Parameter totalSizeBytes: usually the free space on the disk.
    public init(totalSizeBytes: UInt64) { self.totalSizeBytes = totalSizeBytes }

    /// The maximum length of one path component in bytes.
    var componentSizeBytes: Int { acceptsLongNames ? nameSizeBytes : FileName.byteCountLimit }
}

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

/// The rules for the name of an entry of a foreign archive.
enum ArchiveEntryName {
    /// - Throws: `invalidContent` for a name that would leave the target folder, or cannot be created.
    static func check(
        _ name: ArraySlice<UInt8>, isUTF8: Bool, acceptsBackslash: Bool, componentSizeBytes: Int
    ) throws(BackupError) {
        // Computed only for a message: there can be a million names.
        var shown: String { ArchiveFailure.quoted(name) }
        guard let first = name.first else { throw ArchiveFailure.refused("An entry of the archive has no name.") }
        guard first != UInt8(ascii: "/") else { throw ArchiveFailure.refused("The entry \(shown) has an absolute path.") }
        guard !name.contains(0) else { throw ArchiveFailure.refused("The name \(shown) contains a NUL byte.") }
        guard acceptsBackslash || !name.contains(UInt8(ascii: "\\")) else {
            throw ArchiveFailure.refused("The name \(shown) contains a backslash.")
        }
        guard !isUTF8 || String(validating: name, as: UTF8.self) != nil else {
            throw ArchiveFailure.damaged("The name \(shown) is marked as UTF-8 and is not.")
        }
        let path = name.last == UInt8(ascii: "/") ? name.dropLast() : name
        for component in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard FileName(bytes: Array(component)).isSafeComponent(upTo: componentSizeBytes) else {
                throw ArchiveFailure.refused("The entry \(shown) has an unsafe path.")
            }
        }
    }
}
