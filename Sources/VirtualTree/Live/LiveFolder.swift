import BackupCore

/// A place in `live/`. Every request uses the newest view, which stays the same until the data changes.
struct LivePlace: Sendable {
    /// Relative to `live/`.
    let path: [FileName]
    /// Its number, independent of its state. To the kernel each state of a file or link is a separate node, so that cached pages,
    /// attributes and targets of different states are never mixed.
    let inode: InodeNumber
    let context: TreeContext

    /// The current entry.
    /// - Throws: `notFound`, also when its kind has changed.
    func entry(_ kind: FileKind) throws(BackupError) -> LiveEntry {
        guard let entry = try context.live.entry(at: path), entry.kind == kind else { throw .notFound(path.last ?? "live") }
        return entry
    }

    func attributes(of entry: LiveEntry) -> NodeAttributes {
        var attributes = NodeAttributes(entry, inode, isMade: path.first != "media", isImmutable: false, context)
        if entry.kind == .symbolicLink {
            attributes.inode = inode.link(to: entry.linkTarget ?? [])
        } else if let version = entry.version {
            attributes.inode = inode.version(version)
            attributes.attributeTimeoutSeconds = TreeContext.immutableTimeoutSeconds
        }
        return attributes
    }

    /// For messages.
    var shownPath: String { "live/" + path.map(\.description).joined(separator: "/") }

    func child(_ entry: LiveEntry) -> LivePlace {
        LivePlace(path: path + [entry.name], inode: inode.child(entry.name), context: context)
    }

    func node(_ entry: LiveEntry) -> any Node {
        switch entry.kind {
        case .file: LiveFile(entry, at: self)
        case .directory: LiveFolder(self)
        case .symbolicLink: LiveLink(entry, at: self)
        }
    }
}

/// `live/` and its subfolders.
final class LiveFolder: FolderNode {
    private let place: LivePlace
    /// Names that desktops look for in every folder, in lower case: they never exist directly in `live/`.
    private static let probedNames: Set = ["autorun.inf", "autorun", "autorun.sh", "autoopen", "desktop.ini", "thumbs.db"]

    init(_ place: LivePlace) { self.place = place }

    var inode: InodeNumber { place.inode }
    private var isTop: Bool { place.path.isEmpty }
    var looksAtTheApp: Bool { true }
    var hasKnownAttributes: Bool { isTop }

    func attributes() throws(BackupError) -> NodeAttributes {
        // `ls` of the mountpoint must not render the live data.
        guard !isTop else { return place.context.folderAttributes(inode, time: place.context.mountTime) }
        return place.attributes(of: try place.entry(.directory))
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        // Probes of file managers must not render anything; hidden media files are real and are looked up.
        if isTop, name.bytes.first == UInt8(ascii: ".") || Self.probedNames.contains(name.description.lowercased()) {
            throw .notFound(name)
        }
        guard let entry = try place.context.live.entry(at: place.path + [name]) else { throw .notFound(name) }
        return place.child(entry).node(entry)
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { isTop ? TreeContext.hiddenNameTimeoutSeconds(name) : 0 }

    func listing() throws(BackupError) -> FolderListing {
        guard let entries = try place.context.live.children(of: place.path) else { throw .notFound(place.path.last ?? "live") }
        return FolderListing(count: entries.count) { [place] index in
            (entries[index].name, place.child(entries[index]).attributes(of: entries[index]))
        } node: { [place] index in
            place.child(entries[index]).node(entries[index])
        }
    }
}

/// A file in `live/`, in one particular state. Each open sees one consistent state, whatever the app writes meanwhile.
final class LiveFile: FileNode {
    var inode: InodeNumber { found.inode }
    private let place: LivePlace
    private let version: UInt64?
    /// Its attributes at the lookup; permanently valid if there is a version.
    private let found: NodeAttributes

    init(_ entry: LiveEntry, at place: LivePlace) {
        self.place = place
        version = entry.version
        found = place.attributes(of: entry)
    }

    /// - Throws: `stale` when the state that was found is gone: a new lookup finds the new one.
    private func entry() throws(BackupError) -> LiveEntry {
        guard let version else { return try place.entry(.file) }
        // The state found a moment ago: the app may write all the time, and each access would otherwise see a newer one.
        if let held = place.context.live.heldEntry(at: place.path, version: version) { return held }
        let entry = try place.entry(.file)
        guard entry.version == version else {
            throw BackupError(.stale, "the file has just changed", path: name, remedy: "Try again.")
        }
        return entry
    }

    private var name: String { place.shownPath }

    var looksAtTheApp: Bool { true }
    var hasKnownAttributes: Bool { version != nil }

    func attributes() throws(BackupError) -> NodeAttributes {
        version == nil ? place.attributes(of: try place.entry(.file)) : found
    }

    var mimeType: String? { place.path.last.map(MIMEType.of) }
    var hasChecksums: Bool { true }
    /// Listing them would read the file.
    var listsChecksums: Bool { false }
    func checksums() throws(BackupError) -> Checksums? { try entry().content.checksums() }

    /// Below the media folder of an app with photos; `nil` for other files.
    var mediaPath: [UInt8]? {
        guard place.path.first == "media", place.context.services.hasPhotos else { return nil }
        return BytePath.joined(place.path.dropFirst())
    }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        guard let path = mediaPath else { return [] }
        let attributes = try attributes()
        let record = place.context.services.knownPhoto(
            path: path, sizeBytes: attributes.size, modificationTime: attributes.modificationTime)
        // A damaged star must not keep the photo from being copied with its attributes; `star --list` reports it.
        let star = (try? place.context.services.star(ofPhoto: path)).flatMap { $0 }
        return (record.map(PhotoAttributes.attributes) ?? [])
            + (star.map { [(PhotoAttributes.starredName, "1"), (PhotoAttributes.statusName, $0.status)] } ?? [])
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        guard name == PhotoAttributes.starredName, let path = mediaPath else { throw .readOnlyHere }
        switch value {
        case [UInt8(ascii: "1")]: try place.context.services.setStarred(photo: path, true)
        case [UInt8(ascii: "0")]: try place.context.services.setStarred(photo: path, false)
        default: throw BackupError(.invalidArgument, "user.backupfs.starred is 1 or 0", path: self.name)
        }
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        guard name == PhotoAttributes.starredName, let path = mediaPath else { throw .readOnlyHere }
        try place.context.services.setStarred(photo: path, false)
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        let entry = try entry()
        let table = try entry.content.table()
        let live = place.context.live
        live.noteOpen(1)
        return OpenExtents(
            table, repository: place.context.repository, isImmutable: entry.version != nil && entry.isSettled,
            whenReleased: { live.noteOpen(-1) }, path: { [name] in name })
    }
}

/// A symbolic link in the app's media folder, with one particular target.
final class LiveLink: LinkNode {
    let inode: InodeNumber
    private let place: LivePlace

    init(_ entry: LiveEntry, at place: LivePlace) {
        self.place = place
        inode = place.attributes(of: entry).inode
    }

    var looksAtTheApp: Bool { true }

    /// - Throws: `stale` when it has another target by now: a new lookup finds that link.
    private func entry() throws(BackupError) -> LiveEntry {
        let entry = try place.entry(.symbolicLink)
        guard place.attributes(of: entry).inode == inode else {
            throw BackupError(.stale, "the file has just changed", path: place.shownPath, remedy: "Try again.")
        }
        return entry
    }

    func attributes() throws(BackupError) -> NodeAttributes { place.attributes(of: try entry()) }

    func target() throws(BackupError) -> [UInt8] { try entry().linkTarget ?? [] }
}
