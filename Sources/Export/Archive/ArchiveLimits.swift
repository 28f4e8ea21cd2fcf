import BackupCore

/// What a foreign archive may ask for at most.
public struct ArchiveLimits: Sendable {
    public var entryCount = 1_000_000
    /// Length of one name in bytes.
    public var nameSizeBytes = 4_096
    /// Length of all names together in bytes: what the reader keeps in memory.
    public var namesTotalSizeBytes = 64 << 20
    /// Unpacked size of all entries together in bytes.
    public var totalSizeBytes: UInt64
    /// How many times the archive's own size its entries may unpack to, once they are larger than `ratioFreeSizeBytes`.
    /// DEFLATE reaches 1,032; a database with many empty pages can come near it, but a large one full of data stays far below.
    public var ratio: UInt64 = 200
    /// Up to this unpacked size in bytes no ratio is asked for.
    public var ratioFreeSizeBytes: UInt64 = 100 << 20

    /// Names with a backslash, in archives made on Unix, where it is a character like any other. Elsewhere it separates folders.
    public var acceptsUnixBackslashes = false
    /// Symbolic links, in archives made on Unix; where they point to is for the caller to judge. Nothing can lie below one.
    public var acceptsSymbolicLinks = false

    /// Names that are longer than a file's can be: who takes them has to shorten them.
    public var acceptsLongNames = false

    /// For an archive that this program made of what was on a disk: it may be as large as that, names may be too long for a file, and a folder of zeros is
    /// no bomb. The reader still keeps at most 2 GiB of names and 2^31 entries.
    public static var ownArchive: ArchiveLimits {
        var limits = ArchiveLimits(totalSizeBytes: .max)
        limits.entryCount = .max
        limits.nameSizeBytes = .max
        limits.namesTotalSizeBytes = .max
        limits.ratio = .max
        limits.acceptsLongNames = true
        return limits
    }

    /// - Parameter totalSizeBytes: usually what the disk has room for.
    public init(totalSizeBytes: UInt64) { self.totalSizeBytes = totalSizeBytes }

    /// How long one part of a name may be, in bytes.
    var componentSizeBytes: Int { acceptsLongNames ? nameSizeBytes : FileName.byteCountLimit }
}
