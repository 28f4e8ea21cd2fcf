import BackupCore
import BackupRepository
import SnapshotFormats
import SystemIO

/// Knows which files of the media folder a safety backup holds, so that a restore removes only these.
public struct SavedMedia: Sendable {
    /// Whether the backup has the file unchanged.
    typealias Check = (ReplacedFile) throws(BackupError) -> Bool
    /// The entry of the backup at a path below the media folder; `nil` when it has none.
    typealias Lookup = (_ path: [UInt8]) throws(BackupError) -> TreeEntry?

    /// `nil` for data that need not be kept.
    private let repository: Repository?

    /// - Parameter repository: the one with the safety backups.
    public init(in repository: Repository) { self.repository = repository }

    private init() { repository = nil }

    /// For data that need not be kept.
    public static let everything = SavedMedia()

    /// - Parameter snapshot: the safety backup; `nil` when there is none.
    func check(_ snapshot: SnapshotID?) -> Check {
        guard repository != nil else { return { _ in true } }
        let lookup = lookup(in: snapshot)
        return { (file) throws(BackupError) in
            guard let entry = try lookup(file.path) else { return false }
            return try entry.holds(file)
        }
    }

    /// The entries of a safety backup. Reads only folders.
    func lookup(in snapshot: SnapshotID?) -> Lookup {
        guard let repository, let snapshot = snapshot.flatMap({ repository.snapshot(id: $0) }),
            let root = try? repository.rootDirectory(of: snapshot).entry(named: "media")?.storedDirectory
        else { return { _ in nil } }
        let catalog = StoredMediaCatalog(root, in: repository)
        return { (path) throws(BackupError) in try catalog.entry(at: path) }
    }
}

extension TreeEntry {
    /// Whether a file is unchanged since it was stored. Size and modification time do not prove that: programs give a copy the
    /// time of the original. The change time does where the file system keeps one; otherwise the bytes decide.
    func holds(_ file: ReplacedFile) throws(BackupError) -> Bool {
        switch kind {
        case .file:
            guard isAlike(file) else { return false }
            if isProven(file) { return true }
            // Without either of them, the file counts as different.
            guard let stored = checksums?.sha256, let digest = try file.digest() else { return false }
            return digest == stored
        case .symbolicLink:
            guard modificationTime == file.status.modificationTime, file.status.kind == .symbolicLink else { return false }
            return try linkTarget == file.linkTarget()
        case .directory: return false
        }
    }

    /// Whether a file is unchanged since it was stored, if that is known without reading it.
    func isProven(_ file: ReplacedFile) -> Bool {
        let identity = SourceIdentity(inode: file.status.inode, changeTime: file.changeTime)
        return isAlike(file) && sourceIdentity == identity && file.hasTrueChangeTime
    }

    private func isAlike(_ file: ReplacedFile) -> Bool {
        kind == .file && file.status.kind == .regular && size == file.status.size
            && modificationTime == file.status.modificationTime
    }
}
