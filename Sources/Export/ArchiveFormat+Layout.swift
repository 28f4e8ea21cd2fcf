import BackupCore

extension ArchiveFormat {
    /// The archive of `members`, in their order.
    /// - Throws: as `ZIPLayout.append(_:)` and `TARLayout.append(_:)`.
    public func table(for members: [ArchiveMember]) throws(BackupError) -> ExtentTable {
        switch self {
        case .tar: try TARLayout.table(for: members)
        case .zip: try ZIPLayout.table(for: members)
        }
    }
}
