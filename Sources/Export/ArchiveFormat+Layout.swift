import BackupCore

extension ArchiveFormat {
    /// Gives members one by one to whoever lays them out.
    public typealias Visit = (_ body: (ArchiveMember) throws(BackupError) -> Void) throws(BackupError) -> Void

    /// Lays archives of this format out.
    public var layout: any ArchiveLayout.Type {
        switch self {
        case .tar: TARLayout.self
        case .zip: ZIPLayout.self
        }
    }
}
