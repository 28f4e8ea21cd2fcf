import BackupCore
import BackupRepository

extension PhotoIndex {
    /// The file with the list of photos in a backup, which is not read; `nil` when it has none.
    public static func file(in snapshot: Snapshot, of repository: Repository) throws(BackupError) -> TreeEntry? {
        let entry = try repository.rootDirectory(of: snapshot).entry(named: PhotoPlaces.listName)
        return entry?.kind == .file ? entry : nil
    }

    /// The list of photos in a backup; `nil` when it has none.
    public static func list(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> PhotoIndex? {
        try file(in: snapshot, of: repository).map { (file) throws(BackupError) in
            try PhotoIndex(reading: StoredContentSource(file.content, in: repository))
        }
    }
}
