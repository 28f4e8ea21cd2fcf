import BackupCore
import BackupRepository
import SystemIO

/// A file, folder or link on one side of a comparison: from a backup, or from the app's current data.
enum ComparedFile {
    /// `owner`: the owner of files whose entries name none.
    case stored(TreeEntry, Repository, owner: FileOwner?)
    case media(LiveMedia.Item, path: [FileName], LiveMedia)
    /// The copy of the app's database made for the comparison.
    case rendered(FileName, SpoolFile, Timestamp)

    var name: FileName {
        switch self {
        case .stored(let entry, _, _): entry.name
        case .media(let item, _, _): item.name
        case .rendered(let name, _, _): name
        }
    }

    var isFolder: Bool {
        switch self {
        case .stored(let entry, _, _): entry.kind == .directory
        case .media(let item, _, _): item.status.kind == .directory
        case .rendered: false
        }
    }

    /// Size in bytes.
    var size: UInt64 {
        switch self {
        case .stored(let entry, _, _): entry.size
        case .media(let item, _, _): linkTarget.map { UInt64($0.count) } ?? item.status.size
        case .rendered(_, let file, _): file.size
        }
    }

    var modificationTime: Timestamp {
        switch self {
        case .stored(let entry, _, _): entry.modificationTime
        case .media(let item, _, _): item.status.modificationTime
        case .rendered(_, _, let time): time
        }
    }

    var linkTarget: [UInt8]? {
        switch self {
        case .stored(let entry, _, _): entry.linkTarget
        case .media(let item, _, _): item.status.kind == .symbolicLink ? item.target : nil
        case .rendered: nil
        }
    }

    /// The content of a folder, sorted by name.
    func children() throws(BackupError) -> [ComparedFile] {
        switch self {
        case .stored(let entry, let repository, let owner):
            return try repository.directory(of: entry).entries.map { .stored($0, repository, owner: owner) }
        case .media(_, let path, let media):
            // The folder disappeared after its parent was listed.
            return try (media.items(in: path[...]) ?? []).map { .media($0, path: path + [$0.name], media) }
        case .rendered: return []
        }
    }

    /// Whether two folders are known to be equal without examining their content.
    func isSameFolder(as other: ComparedFile) -> Bool {
        guard case .stored(let entry, _, let owner) = self, case .stored(let otherEntry, _, let otherOwner) = other,
            owner == otherOwner
        else { return false }
        return entry.content == otherEntry.content
    }

    /// Whether two files or links have the same content. A file of the app is read only if its size is equal and it may differ from the file that was backed
    /// up.
    func hasContent(of other: ComparedFile) throws(BackupError) -> Bool {
        guard linkTarget == other.linkTarget, size == other.size else { return false }
        if linkTarget != nil { return true }
        switch (self, other) {
        case (.stored(let entry, _, _), .media(let item, _, _)) where entry.isUnchanged(item): return true
        case (.media(let item, _, _), .stored(let entry, _, _)) where entry.isUnchanged(item): return true
        default: return try sha256() == other.sha256()
        }
    }

    /// The file that this name is a hard link to; `nil` when it is the only name, or the backup has no link data.
    var link: EntryMetadata.Link? {
        guard case .stored(let entry, _, _) = self else { return nil }
        return entry.metadata?.link
    }

    /// Whether hard links are known. They are not for the app's files and for backups of older programs.
    var tellsLinks: Bool {
        guard case .stored(_, _, let owner) = self else { return false }
        return owner != nil
    }

    /// Whether two backed-up files or folders have the same owner and extended attributes.
    func hasMetadata(of other: ComparedFile) -> Bool {
        guard case .stored(let entry, _, let owner) = self, case .stored(let otherEntry, _, let otherOwner) = other else {
            return true
        }
        let (now, then) = (entry.metadata?.owner ?? owner, otherEntry.metadata?.owner ?? otherOwner)
        // Backups of older programs record no owner.
        return (now == then || now == nil || then == nil)
            && entry.metadata?.extendedAttributes ?? [] == otherEntry.metadata?.extendedAttributes ?? []
    }

    private func sha256() throws(BackupError) -> SHA256Digest? {
        switch self {
        case .stored(let entry, _, _): return entry.checksums?.sha256
        case .media(let item, let path, let media): return try media.open(path[...], expected: item.status).sha256()
        case .rendered(_, let file, _): return try SourceChecksums.of(file).sha256
        }
    }
}
