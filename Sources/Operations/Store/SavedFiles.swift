import BackupCore
import BackupRepository
import Restore
import SnapshotFormats
import SystemIO

extension Store {
    /// The media files in the safety backups.
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
    /// Whether a file is unchanged since it was stored. Size and modification time do not prove that: programs give a copy the
    /// time of the original. The change time does where the file system keeps one; otherwise the bytes decide.
    func holds(_ file: ReplacedFile) throws(BackupError) -> Bool {
        let status = file.status
        guard modificationTime == status.modificationTime else { return false }
        switch kind {
        case .file:
            guard status.kind == .regular, size == status.size else { return false }
            let identity = SourceIdentity(inode: status.inode, changeTime: file.changeTime)
            if sourceIdentity == identity, file.hasTrueChangeTime { return true }
            // Without either of them, the file counts as different.
            guard let stored = checksums?.sha256, let digest = try file.digest() else { return false }
            return digest == stored
        case .symbolicLink:
            guard status.kind == .symbolicLink else { return false }
            return try linkTarget == file.linkTarget()
        case .directory: return false
        }
    }
}
