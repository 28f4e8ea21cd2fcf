import BackupCore

/// Counts the bytes of an archive as its members come, exactly.
public protocol ArchiveSizeCounter: Sendable {
    init()
    mutating func append(_ member: ArchiveMember) throws(BackupError)
    /// Size in bytes of the archive of all members so far.
    var archivedSize: UInt64 { get }
}
