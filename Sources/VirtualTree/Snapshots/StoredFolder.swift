import BackupCore
import BackupRepository

/// A folder inside a snapshot, as it was stored. Its directory object is read when it is first asked for something.
final class StoredFolder: FolderNode {
    let inode: InodeNumber
    private let snapshot: Snapshot
    /// `nil` for the snapshot's root.
    private let entry: TreeEntry?
    private let path: String
    /// It is, or lies in, the app's own media folder.
    private let isMedia: Bool
    private let context: TreeContext

    private static let mediaName: FileName = "media"

    init(
        _ entry: TreeEntry?, in snapshot: Snapshot, path: String, isMedia: Bool = false, inode: InodeNumber, context: TreeContext
    ) {
        self.entry = entry
        self.isMedia = isMedia
        self.snapshot = snapshot
        self.path = path
        self.inode = inode
        self.context = context
    }

    private func directory() throws(BackupError) -> Directory {
        do {
            guard let entry else { return try context.repository.rootDirectory(of: snapshot) }
            return try context.repository.directory(of: entry)
        } catch {
            throw error.at(path)
        }
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        if let entry { return Self.attributes(entry, inode, context, isMade: !isMedia) }
        return context.folderAttributes(inode, time: snapshot.creationTime, isImmutable: true)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let entry = try directory().entry(named: name) else { throw .notFound(name) }
        return node(entry)
    }

    func listing() throws(BackupError) -> FolderListing {
        let entries = try directory().entries
        return FolderListing(count: entries.count) { [self] index in
            let entry = entries[index]
            return FolderListing.Child(
                name: entry.name,
                attributes: Self.attributes(entry, inode.child(entry.name), context, isMade: !isMedia(entry)),
                node: { [self] in node(entry) })
        }
    }

    private func isMedia(_ child: TreeEntry) -> Bool { isMedia || (entry == nil && child.name == Self.mediaName) }

    /// From the directory object alone: a listing opens nothing.
    static func attributes(
        _ entry: TreeEntry, _ inode: InodeNumber, _ context: TreeContext, isMade: Bool
    ) -> NodeAttributes {
        let kind: NodeAttributes.Kind =
            switch entry.kind {
            case .file: .file
            case .directory: .directory
            case .symbolicLink: .symbolicLink
            }
        return NodeAttributes(
            inode: inode, kind: kind,
            permissions: kind == .symbolicLink
                ? 0o777 : context.permissions(entry.mode, isFolder: kind == .directory, isMade: isMade),
            size: kind == .directory ? 0 : entry.size, modificationTime: entry.modificationTime, isImmutable: true,
            entryTimeoutSeconds: TreeContext.immutableTimeoutSeconds,
            attributeTimeoutSeconds: TreeContext.immutableTimeoutSeconds)
    }

    private func node(_ entry: TreeEntry) -> any Node {
        let path = "\(path)/\(entry.name)"
        let inode = inode.child(entry.name)
        switch entry.kind {
        case .file: return StoredFile(entry, path: path, isMade: !isMedia(entry), inode: inode, context: context)
        case .symbolicLink: return StoredLink(entry, inode: inode, context: context)
        case .directory:
            return StoredFolder(
                entry, in: snapshot, path: path, isMedia: isMedia(entry), inode: inode, context: context)
        }
    }
}
