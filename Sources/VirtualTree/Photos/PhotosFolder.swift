import BackupCore
import BackupRepository
import Photos

/// Where the photos of a `photos/` folder come from.
protocol PhotoSource: Sendable {
    /// The photos as they are now.
    func photos() throws(BackupError) -> OpenPhotos
    /// The media folder, seen from the folder that `photos/` is in.
    var mediaPath: String { get }
    /// Of the folders.
    var time: Timestamp { get }
    /// Whether the photos never change.
    var isImmutable: Bool { get }
    /// The folders of views in `photos/`.
    var viewNames: [FileName] { get }
    /// Whether finding them may wait for the app's media folder rather than the repository.
    var looksAtTheApp: Bool { get }
}

/// The photos of a snapshot.
struct StoredPhotos: PhotoSource {
    let snapshot: Snapshot
    let context: TreeContext

    func photos() throws(BackupError) -> OpenPhotos {
        guard let photos = try context.snapshotPhotos.photos(of: snapshot, in: context.repository) else {
            throw .notFound(PhotoPlaces.viewFolderName)
        }
        return photos
    }

    var mediaPath: String { "media" }
    var time: Timestamp { snapshot.creationTime }
    var isImmutable: Bool { true }
    var viewNames: [FileName] { PhotoViews.folderNames }
    var looksAtTheApp: Bool { false }
}

/// `photos/` and the folders in it: links to the photos of the media folder, by date, by camera, and those that are there twice.
final class PhotosFolder: FolderNode {
    let inode: InodeNumber
    /// Below `photos/`.
    private let path: [FileName]
    private let source: any PhotoSource
    private let context: TreeContext

    init(_ source: any PhotoSource, at path: [FileName] = [], inode: InodeNumber, context: TreeContext) {
        self.source = source
        self.path = path
        self.inode = inode
        self.context = context
    }

    var looksAtTheApp: Bool { source.looksAtTheApp }
    var looksAtTheRepository: Bool { !source.looksAtTheApp }
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }
    var isImmutable: Bool { source.isImmutable }

    func absenceTimeoutSeconds(of name: FileName) -> Double { isImmutable ? TreeContext.immutableTimeoutSeconds : 0 }

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = context.folderAttributes(inode, time: source.time, isImmutable: isImmutable)
        if !isImmutable, !path.isEmpty { attributes.entryTimeoutSeconds = 0 }
        return attributes
    }

    private func node(_ entry: PhotoViews.Entry) -> any Node {
        let inode = inode.child(entry.name)
        switch entry {
        case .folder(let name): return PhotosFolder(source, at: path + [name], inode: inode, context: context)
        case .link(_, let photo, let time):
            // Up from this folder, and out of `photos/`.
            let up = Array(String(repeating: "../", count: path.count + 1).utf8)
            return PhotoLink(
                to: up + Array("\(source.mediaPath)/".utf8) + photo, time, inode: inode, isImmutable: isImmutable)
        }
    }

    /// What `photos/` at the mountpoint has besides the views: the stars, and the files about their uploads.
    private func others() throws(BackupError) -> [(name: FileName, node: any Node)] {
        guard path.isEmpty, source.looksAtTheApp else { return [] }
        let starred = PhotoViews.starredFolderName
        var others: [(name: FileName, node: any Node)] = [
            (starred, StarredFolder(inode: inode.child(starred), context: context))
        ]
        for folder in PhotoQueueFolder.allCases {
            let name = FileName(folder.rawValue)
            others.append((name, PhotoQueueNode(folder, inode: inode.child(name), context: context)))
        }
        for name in try context.services.photoQueueFiles(in: nil) {
            let file = TextFile(name, in: inode, context: context) { [context] () throws(BackupError) in
                try context.services.photoQueueFile(name, in: nil)
            }
            others.append((name, file))
        }
        return others
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        if path.isEmpty, !source.viewNames.contains(name) {
            // File managers and shells probe for dozens of hidden names.
            guard name.bytes.first != UInt8(ascii: "."), let other = try others().first(where: { $0.name == name }) else {
                throw .notFound(name)
            }
            return other.node
        }
        guard let entry = try source.photos().views.entry(at: path + [name]) else { throw .notFound(name) }
        return node(entry)
    }

    func listing() throws(BackupError) -> FolderListing {
        let entries: [PhotoViews.Entry]
        if path.isEmpty {
            // `ls` of it reads nothing.
            entries = source.viewNames.map { .folder($0) }
        } else {
            guard let found = try source.photos().views.children(of: path) else { throw .notFound(path[path.count - 1]) }
            entries = found
        }
        let views = FolderListing(count: entries.count) { [self] (index) throws(BackupError) in
            (entries[index].name, try node(entries[index]).attributes())
        } node: { [self] index in
            node(entries[index])
        }
        return FolderListing(try others()).followed(by: views)
    }
}

/// A link to a photo in the media folder.
final class PhotoLink: LinkNode {
    let inode: InodeNumber
    private let shownInode: InodeNumber
    private let path: [UInt8]
    private let time: Timestamp
    private let isImmutable: Bool

    /// - Parameter inode: the number that users see.
    init(to path: [UInt8], _ time: Timestamp, inode: InodeNumber, isImmutable: Bool) {
        self.path = path
        self.time = time
        self.inode = isImmutable ? inode : inode.link(to: path)
        shownInode = inode
        self.isImmutable = isImmutable
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        let timeout = isImmutable ? TreeContext.immutableTimeoutSeconds : 0
        return NodeAttributes(
            inode: inode, shownInode: shownInode, kind: .symbolicLink, permissions: 0o777, size: UInt64(path.count),
            modificationTime: time, isImmutable: isImmutable, entryTimeoutSeconds: timeout, attributeTimeoutSeconds: timeout)
    }

    func target() throws(BackupError) -> [UInt8] { path }
}
