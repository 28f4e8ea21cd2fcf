import BackupCore
import Photos
import SystemIO

/// `photos/starred/`: links to the starred photos of the app's media folder, and files for those that were copied here. A link or
/// a copy that is made here stars a photo, and removing one takes the star away.
final class StarredFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    var looksAtTheStore: Bool { true }
    var hasKnownAttributes: Bool { true }
    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    private func node(_ photo: StarredPhoto) -> any Node {
        if let copy = photo.copy { return KeptPhoto(photo, copy, named: photo.name, in: inode, context: context) }
        return PhotoLink(
            to: Array("../../live/media/\(photo.path)".utf8), photo.starredAt, inode: inode.child(photo.name),
            isImmutable: false)
    }

    private func star(named name: FileName) throws(BackupError) -> StarredPhoto {
        guard let photo = try context.services.starredPhoto(named: name) else { throw .notFound(name) }
        return photo
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        if let copy = context.copiedPhotos.file(named: name) { return copy }
        // File managers and shells probe for dozens of hidden names.
        if name.bytes.first == UInt8(ascii: ".") { throw .notFound(name) }
        return node(try star(named: name))
    }

    func listing() throws(BackupError) -> FolderListing {
        let copies = context.copiedPhotos.sortedFiles.map { (name: $0.name, node: $0.file as any Node) }
        let copied = Set(copies.map(\.name))
        let photos = try context.services.starredPhotos().sorted { $0.name < $1.name }
        return FolderListing(photos.filter { !copied.contains($0.name) }.map { ($0.name, node($0)) } + copies)
    }

    func removeFile(_ name: FileName) throws(BackupError) {
        if let copy = copy(named: name) {
            context.copiedPhotos.take(copy)
            // Its star has another name, unless it was made just now.
            guard copy.discard() != nil, !DropName.isUnfinished(name) else { return }
        }
        let path = Array(try star(named: name).path.utf8)
        try context.services.setStarred(photo: path, false)
    }

    // MARK: Copies

    private func copy(named name: FileName) -> CopiedPhoto? { context.copiedPhotos.file(named: name) as? CopiedPhoto }

    func createFile(_ name: FileName) throws(BackupError) -> any FileNode {
        try requireUsable(name)
        // Another process may have made it since the kernel has looked.
        if let photo = try context.services.starredPhoto(named: name) {
            guard let file = node(photo) as? any FileNode else { throw Self.isThere(name) }
            return file
        }
        return context.copiedPhotos.add(CopiedPhoto(name: name, folder: inode, context: context), as: name)
    }

    private func requireUsable(_ name: FileName) throws(BackupError) {
        guard name.isSafeComponent, !DropName.isTrash(name) else {
            throw BackupError(.notPermitted, "this name cannot be used here", path: name.description)
        }
    }

    private static func isThere(_ name: FileName) -> BackupError {
        BackupError(.alreadyExists, "another photo has a star of that name already", path: name.description)
    }

    /// Programs copy under a temporary name first. Once the copy is complete, its star has the name of its photo.
    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        guard let copy = copy(named: name) else {
            _ = try star(named: name)
            throw .readOnlyHere
        }
        guard newParent is StarredFolder else { throw .readOnlyHere }
        try requireUsable(newName)
        let starred = try copy.starredContent()
        // Its own star may have the name already.
        let other = try context.services.starredPhoto(named: newName)
        let isTaken = other.map { starred == nil || $0.copy?.sha256 != starred } ?? false
        if isTaken, !mayReplace || starred != nil { throw Self.isThere(newName) }
        if !mayReplace, context.copiedPhotos.file(named: newName) != nil { throw Self.isThere(newName) }
        _ = (context.copiedPhotos.rename(copy, to: newName) as? CopiedPhoto)?.discard()
        if !copy.rename(to: newName) { context.copiedPhotos.take(copy) }
    }

    // MARK: Links

    func makeSymbolicLink(_ name: FileName, to target: [UInt8]) throws(BackupError) -> any Node {
        guard let path = mediaPath(of: target) else { throw Self.notAPhoto(name) }
        try star(path, as: name)
        return PhotoLink(to: target, SystemClock.now(), inode: inode.child(name), isImmutable: false)
    }

    func link(_ node: any Node, as name: FileName) throws(BackupError) {
        if let file = node as? LiveFile, let path = file.mediaPath { return try star(path, as: name) }
        // `cp -l` of a link among the views.
        guard let link = node as? PhotoLink, let path = mediaPath(of: try link.target()) else { throw Self.notAPhoto(name) }
        try star(path, as: name)
    }

    /// A link under another name would disappear at the next look.
    private func star(_ path: [UInt8], as name: FileName) throws(BackupError) {
        guard FileName(bytes: BytePath.lastComponent(of: path)) == name else {
            throw BackupError(
                .invalidArgument, "a link here has the name of its photo", path: name.description,
                remedy: "Give it the name \(MessageText.name(BytePath.lastComponent(of: path))).")
        }
        try context.services.setStarred(photo: path, true)
    }

    /// Finds the photo that a link leads to: in `live/media` of this tree or of another mount of it, or in the media folder.
    private func mediaPath(of target: [UInt8]) -> [UInt8]? {
        var path: [FileName] = []
        for part in BytePath.components(of: target) where part != "." {
            if part == "..", let last = path.last, last != ".." { path.removeLast() } else { path.append(part) }
        }
        if let folder = context.services.mediaFolderPath, target.first == UInt8(ascii: "/") {
            let own = BytePath.components(of: Array(folder.utf8))
            if path.count > own.count, path.starts(with: own) { return BytePath.joined(path.dropFirst(own.count)) }
        }
        let live: [FileName] = ["live", "media"]
        guard let start = path.indices.dropLast(2).last(where: { path[$0..<$0 + 2].elementsEqual(live) }) else { return nil }
        return BytePath.joined(path[(start + 2)...])
    }

    private static func notAPhoto(_ name: FileName) -> BackupError {
        BackupError(
            .invalidArgument, "this leads to no file in live/media", path: name.description,
            remedy: "Link a photo of live/media or of the app's media folder.")
    }
}

/// `photos/queue/` and `photos/status/`: the files about the uploads of starred photos, as they are in the store. Removing one
/// from the queue takes the star away.
final class PhotoQueueNode: FolderNode {
    let inode: InodeNumber
    private let folder: PhotoQueueFolder
    private let context: TreeContext

    init(_ folder: PhotoQueueFolder, inode: InodeNumber, context: TreeContext) {
        self.folder = folder
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    private func file(_ name: FileName) -> TextFile {
        TextFile(name, in: inode, context: context) { [folder, context] () throws(BackupError) in
            try context.services.photoQueueFile(name, in: folder)
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard try context.services.hasPhotoQueueFile(name, in: folder) else { throw .notFound(name) }
        return file(name)
    }

    func listing() throws(BackupError) -> FolderListing {
        FolderListing(try context.services.photoQueueFiles(in: folder).sorted().map { ($0, file($0)) })
    }

    func removeFile(_ name: FileName) throws(BackupError) {
        guard folder == .queue else { throw .readOnlyHere }
        try context.services.cancelPhoto(queueFile: name)
    }
}
