import BackupCore

/// Lays members out one after the other as one archive, without building it.
public protocol ArchiveLayout: Sendable {
    associatedtype SizeCounter: ArchiveSizeCounter

    init()
    /// Adds one entry. Names are written as they are; that no two are the same is the caller's to see to.
    mutating func append(_ member: ArchiveMember) throws(BackupError)
    /// Closes the archive.
    consuming func finish() -> ExtentTable
}

extension ArchiveLayout {
    /// The archive of members that come one by one: they need not all be there at once.
    /// - Throws: as `append(_:)`, and what `visit` throws.
    public static func table(_ visit: ArchiveFormat.Visit) throws(BackupError) -> ExtentTable {
        var layout = Self()
        try visit { (member) throws(BackupError) in try layout.append(member) }
        return layout.finish()
    }

    /// The archive of `members`, in their order. Folders are members whose path ends with `/`.
    /// - Throws: as `append(_:)`.
    public static func table(for members: some Sequence<ArchiveMember>) throws(BackupError) -> ExtentTable {
        try table { (body) throws(BackupError) in
            for member in members { try body(member) }
        }
    }

    /// Size of the archive of `members` in bytes, without the archive.
    /// - Throws: as `SizeCounter.append(_:)`.
    public static func archivedSize(of members: some Sequence<ArchiveMember>) throws(BackupError) -> UInt64 {
        var counter = SizeCounter()
        for member in members { try counter.append(member) }
        return counter.archivedSize
    }
}
