import BackupCore

/// The limits for a foreign archive.
public struct ArchiveLimits: Sendable {
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

    /// For an archive that this program created from files on a disk: it may be equally large, names may be too long for a file, and a folder of zeros is not
    /// a bomb. The reader still keeps at most 2 GiB of names and 2^31 entries.
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
