import BackupCore
import Synchronization
import SystemIO

/// `live/media`: the app's media folder in its current state.
final class LiveMediaView: LiveView {
    let media: LiveMedia
    let checksums: LiveChecksums

    init(_ media: LiveMedia, _ checksums: LiveChecksums) {
        self.media = media
        self.checksums = checksums
    }

    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? { try children(of: path, OpenMediaFiles()) }

    /// - Parameter openFiles: keeps files open that are read as part of an archive.
    func children(of path: [FileName], _ openFiles: OpenMediaFiles) throws(BackupError) -> [LiveEntry]? {
        let folder = path.dropFirst()
        guard path.first == "media", let items = try media.items(in: folder) else { return nil }
        return items.map { entry($0, in: folder, openFiles) }
    }

    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? {
        guard path.first == "media" else { return nil }
        guard path.count > 1 else {
            return try FileSystem.lookBehindLinks(media.path).map {
                .folder("media", permissions: $0.mode, modificationTime: $0.modificationTime)
            }
        }
        return try media.item(at: path.dropFirst()).map { entry($0, in: path.dropFirst().dropLast(), OpenMediaFiles()) }
    }

    private func entry(_ item: LiveMedia.Item, in folder: ArraySlice<FileName>, _ openFiles: OpenMediaFiles) -> LiveEntry {
        let status = item.status
        switch status.kind {
        case .directory:
            return .folder(item.name, permissions: status.mode, modificationTime: status.modificationTime)
        case .symbolicLink:
            return LiveEntry(
                name: item.name, kind: .symbolicLink, permissions: status.mode, size: UInt64(item.target.count),
                modificationTime: status.modificationTime, content: LiteralContent(item.target))
        case .regular, .other:
            return LiveEntry(
                name: item.name, kind: .file, permissions: status.mode, size: status.size,
                modificationTime: status.modificationTime, version: status.version,
                isSettled: status.isSettled && item.keepsChangeTime, content: MediaFileSource(item, in: folder, self, openFiles))
        }
    }
}

extension LiveEntry {
    static func folder(_ name: FileName, permissions: UInt32, modificationTime: Timestamp) -> LiveEntry {
        LiveEntry(
            name: name, kind: .directory, permissions: permissions, size: 0, modificationTime: modificationTime,
            content: LiteralContent([]))
    }
}

extension FileStatus {
    /// Changes when the file is replaced or written to, if the system maintains change times.
    fileprivate var version: UInt64 {
        var hasher = Hasher()
        for number in [device, inode, size] { hasher.combine(number) }
        hasher.combine(modificationTime)
        hasher.combine(changeTime)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// The target of a link.
private final class LiteralContent: LiveContent {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var pieces: [ContentPiece] { bytes.isEmpty ? [] : [.literal(bytes)] }
    func checksums() throws(BackupError) -> Checksums { ContentHasher.hash(bytes) }
}

/// A live media file in the state that it was listed with. As part of something larger it is opened when it is read: an archive
/// of 100,000 files must not hold 100,000 descriptors.
final class MediaFileSource: ByteSource, LiveContent {
    let item: LiveMedia.Item
    private let folder: ArraySlice<FileName>
    private let view: LiveMediaView
    private let openFiles: OpenMediaFiles

    init(_ item: LiveMedia.Item, in folder: ArraySlice<FileName>, _ view: LiveMediaView, _ openFiles: OpenMediaFiles) {
        self.item = item
        self.folder = folder
        self.view = view
        self.openFiles = openFiles
    }

    private var path: ArraySlice<FileName> { folder + [item.name] }

    /// - Throws: `inputOutput` when the file has changed.
    func open() throws(BackupError) -> SharedFile { try view.media.open(path, expected: item.status) }

    var pieces: [ContentPiece] { item.status.size == 0 ? [] : [.source(self, offset: 0, length: item.status.size)] }

    func table() throws(BackupError) -> ExtentTable {
        ExtentTable(plainContent: [.source(try open(), offset: 0, length: item.status.size)])
    }

    func checksums() throws(BackupError) -> Checksums { try view.checksums.checksums(of: item, open) }

    /// - Throws: `inputOutput` when the file has changed: a mix of two states would be worse.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let file = try openFiles.file(path, open)
        let count = try file.read(at: offset, into: buffer)
        let now = try file.status()
        guard now.size == item.status.size, now.modificationTime == item.status.modificationTime else {
            throw BackupError(.inputOutput, "the file changed while it was read", path: file.path, remedy: "Try again.")
        }
        return count
    }
}

/// Keeps the most recently read live media files open: a file is read in many consecutive pieces.
final class OpenMediaFiles: Sendable {
    private static let countLimit = 16

    private let recent = Mutex<[(path: ArraySlice<FileName>, file: SharedFile)]>([])

    func file(
        _ path: ArraySlice<FileName>, _ open: () throws(BackupError) -> SharedFile
    ) throws(BackupError) -> SharedFile {
        if let known = recent.withLock({ $0.first { $0.path == path }?.file }) { return known }
        let file = try open()
        recent.withLock { recent in
            if recent.count >= Self.countLimit { recent.removeFirst() }
            recent.append((path, file))
        }
        return file
    }
}
