import BackupCore
import BackupRepository

/// `versions/`: the media files and the exported collections of all backups of this store in one tree. Each file is a folder with
/// the different contents that the backups have of it. Nothing is read for that but the folders' own records.
final class VersionsFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext
    private let sources: VersionSources
    /// The folders of a backup that it shows.
    private static let shownNames: [FileName] = ["data", "media"]

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
        sources = VersionSources(context: context)
    }

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        context.folderAttributes(inode, time: context.newestTime(.snapshot, ofOwn: true))
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard Self.shownNames.contains(name) else { throw .notFound(name) }
        let list = try sources.list(at: [name])
        if list.sources.isEmpty {
            try list.requireReadable()
            throw .notFound(name)
        }
        return VersionedName([name], sources, inode: inode.child(name), context: context)
    }

    func listing() throws(BackupError) -> FolderListing {
        var nodes: [(name: FileName, node: any Node)] = []
        for name in Self.shownNames {
            let list = try sources.list(at: [name])
            guard !list.sources.isEmpty || !list.failures.isEmpty else { continue }
            nodes.append((name, VersionedName([name], sources, inode: inode.child(name), context: context)))
        }
        return FolderListing(nodes)
    }
}

/// A name below `versions/`. What was a folder in backups has the names in it; what was a file has its versions. It may have been
/// either at different times, and then has both.
final class VersionedName: FolderNode {
    let inode: InodeNumber
    /// Below the folder of a backup; not empty.
    private let path: [FileName]
    private let sources: VersionSources
    private let context: TreeContext

    init(_ path: [FileName], _ sources: VersionSources, inode: InodeNumber, context: TreeContext) {
        self.path = path
        self.sources = sources
        self.inode = inode
        self.context = context
    }

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }

    private var name: FileName { path[path.count - 1] }
    private func parents() throws(BackupError) -> VersionSourceList {
        guard path.count > 1 else { return VersionSourceList() }
        return try sources.list(at: path.dropLast())
    }
    private func folders() throws(BackupError) -> VersionSourceList { try sources.list(at: path) }

    func attributes() throws(BackupError) -> NodeAttributes {
        if path.count == 1 { return attributes(inode, context.newestTime(.snapshot, ofOwn: true)) }
        let parents = try parents()
        if let found = parents.index.names[name] { return attributes(inode, found.modificationTime) }
        try parents.requireReadable()
        throw .notFound(name)
    }

    private func attributes(_ inode: InodeNumber, _ time: Timestamp) -> NodeAttributes {
        var attributes = context.folderAttributes(inode, time: time)
        // It disappears with the last backup that has it.
        attributes.entryTimeoutSeconds = TreeContext.snapshotTimeoutSeconds
        return attributes
    }

    private func node(_ name: FileName) -> VersionedName {
        VersionedName(path + [name], sources, inode: inode.child(name), context: context)
    }

    /// - Parameter folders: those of the same path: no version has the name of something in them.
    private func versions(besides folders: VersionSourceList) throws(BackupError) -> [FileVersions.Version] {
        let parents = try parents()
        guard parents.index.names[name]?.files.isEmpty == false else { return [] }
        return try FileVersions(of: name, in: parents, unless: Set(folders.index.names.keys)).versions
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        let list = try folders()
        if list.index.names[name] != nil { return node(name) }
        if let version = try versions(besides: list).first(where: { $0.name == name }) { return VersionFile(version, in: inode) }
        if name == DamageText.name, let text = damage(list) { return text }
        try list.requireReadable()
        throw .notFound(name)
    }

    func listing() throws(BackupError) -> FolderListing {
        let list = try folders()
        let children = list.index.names.map { (name: $0.key, time: $0.value.modificationTime) }.sorted { $0.name < $1.name }
        var files: [(name: FileName, node: any Node)] = try versions(besides: list).map {
            ($0.name, VersionFile($0, in: inode))
        }
        if list.index.names[DamageText.name] == nil, let text = damage(list) { files.append((DamageText.name, text)) }
        return FolderListing(count: children.count) { [self] index in
            let (name, time) = children[index]
            return (name, attributes(inode.child(name), time))
        } node: { [self] index in
            node(children[index].name)
        }.followed(by: FolderListing(files))
    }

    /// - Returns: `nil` when everything can be read.
    private func damage(_ list: VersionSourceList) -> TextFile? {
        list.failures.isEmpty ? nil : DamageText.file(list.failures, in: inode, context: context)
    }
}
