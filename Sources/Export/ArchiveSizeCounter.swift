import BackupCore

/// Computes the exact size of an archive from its members, one by one.
public protocol ArchiveSizeCounter: Sendable {
    init()
    mutating func append(_ member: ArchiveMember) throws(BackupError)
    /// Size in bytes of the archive of all members so far.
    var archivedSize: UInt64 { get }
}
