import BackupCore

/// Lays members out consecutively as one archive, without building it.
public protocol ArchiveLayout: Sendable {
    associatedtype SizeCounter: ArchiveSizeCounter

    init()
    /// Adds one entry. Writes names unchanged; the caller must ensure that they are unique.
    mutating func append(_ member: ArchiveMember) throws(BackupError)
    /// Closes the archive.
    consuming func finish() -> ExtentTable
}

extension ArchiveLayout {
    /// The archive of members that come one by one: they need not all be in memory.
    /// - Throws: like `append(_:)`; errors of `visit`.
    public static func table(_ visit: ArchiveFormat.Visit) throws(BackupError) -> ExtentTable {
        var layout = Self()
        try visit { (member) throws(BackupError) in try layout.append(member) }
        return layout.finish()
    }

    /// The archive of `members`, in their order. Folders are members whose path ends with `/`.
    /// - Throws: like `append(_:)`.
    public static func table(for members: some Sequence<ArchiveMember>) throws(BackupError) -> ExtentTable {
        try table { (body) throws(BackupError) in
            for member in members { try body(member) }
        }
    }

    /// Size in bytes of the archive of `members`, without building the archive.
    /// - Throws: like `SizeCounter.append(_:)`.
    public static func archivedSize(of members: some Sequence<ArchiveMember>) throws(BackupError) -> UInt64 {
        var counter = SizeCounter()
        for member in members { try counter.append(member) }
        return counter.archivedSize
    }
}

/// Computes the exact size of an archive from its members, one by one.
public protocol ArchiveSizeCounter: Sendable {
    init()
    /// - Throws: for a member that the format cannot have. The counter is of no use afterwards.
    mutating func append(_ member: ArchiveMember) throws(BackupError)
    /// Size in bytes of the archive of all members so far.
    var archivedSize: UInt64 { get }
}

extension ArchiveFormat {
    /// Passes members one by one to a layout.
    public typealias Visit = (_ body: (ArchiveMember) throws(BackupError) -> Void) throws(BackupError) -> Void
}
