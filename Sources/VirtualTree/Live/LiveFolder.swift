import BackupCore

/// `live/` and its subfolders. Every request uses the newest view, which stays the same until the data changes.
final class LiveFolder: FolderNode {
    let inode: InodeNumber
    private let path: [FileName]
    private let context: TreeContext
    /// Names that desktops look for in every folder, in lower case: they never exist directly in `live/`.
    private static let probedNames: Set = ["autorun.inf", "autorun", "autorun.sh", "autoopen", "desktop.ini", "thumbs.db"]

    init(inode: InodeNumber, path: [FileName], context: TreeContext) {
        self.inode = inode
        self.path = path
        self.context = context
    }

    var looksAtTheApp: Bool { true }
    var hasKnownAttributes: Bool { path.isEmpty }

    func attributes() throws(BackupError) -> NodeAttributes {
        // `ls` of the mountpoint must not render the live data.
        guard !path.isEmpty else { return context.folderAttributes(inode, time: context.mountTime) }
        return Self.attributes(try context.liveEntry(.directory, at: path), at: path, inode, context)
    }

    /// - Parameters:
    ///   - path: of the entry, relative to `live/`.
    ///   - inode: its number, independent of its state. To the kernel each state of a file is a separate node, so that cached
    ///     pages and attributes of different
    ///     states are never mixed.
    static func attributes(
        _ entry: LiveEntry, at path: [FileName], _ inode: InodeNumber, _ context: TreeContext
    ) -> NodeAttributes {
        let kind: NodeAttributes.Kind =
            switch entry.kind {
            case .file: .file
            case .directory: .directory
            case .symbolicLink: .symbolicLink
            }
        return NodeAttributes(
            inode: entry.version.map(inode.version) ?? inode, shownInode: inode, kind: kind,
            permissions: kind == .symbolicLink
                ? 0o777
                : context.permissions(UInt32(entry.permissions), isFolder: kind == .directory, isMade: path.first != "media"),
            size: kind == .directory ? 0 : entry.size, modificationTime: entry.modificationTime,
            attributeTimeoutSeconds: entry.version == nil ? 0 : TreeContext.immutableTimeoutSeconds)
    }

    private func node(_ entry: LiveEntry) -> any Node {
        let childPath = path + [entry.name]
        let childInode = inode.child(entry.name)
        switch entry.kind {
        case .file: return LiveFile(entry, at: childPath, inode: childInode, context: context)
        case .directory: return LiveFolder(inode: childInode, path: childPath, context: context)
        case .symbolicLink: return LiveLink(inode: childInode, path: childPath, context: context)
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        // Probes of file managers must not render anything; hidden media files are real and are looked up.
        if path.isEmpty, name.bytes.first == UInt8(ascii: ".") || Self.probedNames.contains(name.description.lowercased()) {
            throw .notFound(name)
        }
        guard let entry = try context.live.entry(at: path + [name]) else { throw .notFound(name) }
        return node(entry)
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double {
        path.isEmpty ? TreeContext.hiddenNameTimeoutSeconds(name) : 0
    }

    func listing() throws(BackupError) -> FolderListing {
        guard let entries = try context.live.children(of: path) else { throw .notFound(path.last ?? "live") }
        return FolderListing(count: entries.count) { [self] index in
            let entry = entries[index]
            return (entry.name, Self.attributes(entry, at: path + [entry.name], inode.child(entry.name), context))
        } node: { [self] index in
            node(entries[index])
        }
    }
}

extension TreeContext {
    /// The current entry at `path` of `live/`.
    /// - Throws: `notFound`, also when its kind has changed.
    func liveEntry(_ kind: LiveEntry.Kind, at path: [FileName]) throws(BackupError) -> LiveEntry {
        guard let entry = try live.entry(at: path), entry.kind == kind else {
            throw .notFound(path.last ?? "live")
        }
        return entry
    }
}

/// A file in `live/`, in one particular state. Each open sees one consistent state, whatever the app writes meanwhile.
final class LiveFile: FileNode {
    var inode: InodeNumber { found.inode }
    private let path: [FileName]
    private let version: UInt64?
    /// Its attributes at the lookup; permanently valid if there is a version.
    private let found: NodeAttributes
    private let context: TreeContext

    /// - Parameter inode: the number shared by all its states.
    init(_ entry: LiveEntry, at path: [FileName], inode: InodeNumber, context: TreeContext) {
        self.path = path
        self.context = context
        version = entry.version
        found = LiveFolder.attributes(entry, at: path, inode, context)
    }

    /// - Throws: `stale` when the state that was found is gone: a new lookup finds the new one.
    private func entry() throws(BackupError) -> LiveEntry {
        guard let version else { return try context.liveEntry(.file, at: path) }
        // The state found a moment ago: the app may write all the time, and each access would otherwise see a newer one.
        if let held = context.live.heldEntry(at: path, version: version) { return held }
        let entry = try context.liveEntry(.file, at: path)
        guard entry.version == version else {
            throw BackupError(.stale, "the file has just changed", path: name, remedy: "Try again.")
        }
        return entry
    }

    private var name: String { "live/" + path.map(\.description).joined(separator: "/") }

    var looksAtTheApp: Bool { true }
    var hasKnownAttributes: Bool { version != nil }

    func attributes() throws(BackupError) -> NodeAttributes {
        if version != nil { return found }
        return LiveFolder.attributes(try context.liveEntry(.file, at: path), at: path, found.shownInode, context)
    }

    var mimeType: String? { path.last.map(MIMEType.of) }
    var hasChecksums: Bool { true }
    /// Listing them would read the file.
    var listsChecksums: Bool { false }
    func checksums() throws(BackupError) -> Checksums? { try entry().checksums() }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        let entry = try entry()
        let content = try entry.content()
        context.live.noteOpen(1)
        return OpenExtents(
            content, repository: context.repository, isImmutable: entry.version != nil && entry.isSettled,
            whenReleased: { [live = context.live] in live.noteOpen(-1) }, path: { [name] in name })
    }
}

/// A symbolic link in the app's media folder.
final class LiveLink: LinkNode {
    let inode: InodeNumber
    private let path: [FileName]
    private let context: TreeContext

    init(inode: InodeNumber, path: [FileName], context: TreeContext) {
        self.inode = inode
        self.path = path
        self.context = context
    }

    private func entry() throws(BackupError) -> LiveEntry { try context.liveEntry(.symbolicLink, at: path) }

    var looksAtTheApp: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes { LiveFolder.attributes(try entry(), at: path, inode, context) }

    func target() throws(BackupError) -> [UInt8] { try context.repository.readAll(try entry().content()) }
}
