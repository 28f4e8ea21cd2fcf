import BackupCore

extension ArchiveFormat {
    /// Gives members one by one to whoever lays them out.
    public typealias Visit = (_ body: (ArchiveMember) throws(BackupError) -> Void) throws(BackupError) -> Void

    /// The archive of `members`, in their order.
    /// - Throws: as `ZIPLayout.append(_:)` and `TARLayout.append(_:)`.
    public func table(for members: [ArchiveMember]) throws(BackupError) -> ExtentTable {
        try table { (body) throws(BackupError) in
            for member in members { try body(member) }
        }
    }

    /// The same for members that need not all be there at once.
    public func table(_ visit: Visit) throws(BackupError) -> ExtentTable {
        switch self {
        case .tar:
            var layout = TARLayout()
            try visit { (member) throws(BackupError) in try layout.append(member) }
            return layout.finish()
        case .zip:
            var layout = ZIPLayout()
            try visit { (member) throws(BackupError) in try layout.append(member) }
            return layout.finish()
        }
    }
}
