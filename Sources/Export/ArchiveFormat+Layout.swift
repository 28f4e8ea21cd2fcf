import BackupCore

extension ArchiveFormat {
    /// Passes members one by one to a layout.
    public typealias Visit = (_ body: (ArchiveMember) throws(BackupError) -> Void) throws(BackupError) -> Void

    /// The layout for archives of this format.
    public var layout: any ArchiveLayout.Type {
        switch self {
        case .tar: TARLayout.self
        case .zip: ZIPLayout.self
        }
    }
}
