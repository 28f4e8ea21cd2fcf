import BackupCore

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
