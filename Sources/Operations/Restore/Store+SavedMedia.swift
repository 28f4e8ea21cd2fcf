import BackupCore
import BackupRepository
import Restore
import SystemIO

extension Store {
    /// What the safety backups hold of the media folder.
    var savedMedia: SavedMedia {
        SavedMedia { [repository] id in
            let catalog = id.flatMap { repository.snapshot(id: $0) }
                .flatMap { try? repository.rootDirectory(of: $0) }
                .flatMap { $0.entry(named: "media")?.storedDirectory }
                .map { StoredMediaCatalog($0, in: repository) }
            return { (file) throws(BackupError) in
                guard let entry = try catalog?.entry(at: file.path) else { return false }
                return try entry.holds(file)
            }
        }
    }
}

extension TreeEntry {
    /// Whether a file is as it was stored. Size and modification time do not say so: programs set the time of a copy to that of the original. The
    /// change time does where the file system keeps one, and otherwise the bytes.
    func holds(_ file: ReplacedFile) throws(BackupError) -> Bool {
        let status = file.status
        guard modificationTime == status.modificationTime else { return false }
        switch kind {
        case .file:
            guard status.kind == .regular, size == status.size else { return false }
            let identity = SourceIdentity(inode: status.inode, changeTime: file.changeTime)
            if sourceIdentity == identity, file.hasTrueChangeTime { return true }
            // What neither is known of is not the same.
            guard let stored = checksums?.sha256, let digest = try file.digest() else { return false }
            return digest == stored
        case .symbolicLink:
            guard status.kind == .symbolicLink else { return false }
            return try linkTarget == file.linkTarget()
        case .directory: return false
        }
    }
}
