import BackupCore
import BackupRepository
import Restore
import SystemIO

extension Store {
    /// What the safety backups hold of the media folder. A file that was written to since has another size or modification time; its change time is
    /// no sign, since a restore that renames it changes that.
    var savedMedia: SavedMedia {
        SavedMedia { [repository] id in
            let catalog = id.flatMap { repository.snapshot(id: $0) }
                .flatMap { try? repository.rootDirectory(of: $0) }
                .flatMap { $0.entry(named: "media")?.storedDirectory }
                .map { StoredMediaCatalog($0, in: repository) }
            return { (path, status) throws(BackupError) in
                guard let entry = try catalog?.entry(at: path), entry.modificationTime == status.modificationTime else {
                    return false
                }
                switch entry.kind {
                case .file: return status.kind == .regular && entry.size == status.size
                case .symbolicLink: return status.kind == .symbolicLink
                case .directory: return false
                }
            }
        }
    }
}
