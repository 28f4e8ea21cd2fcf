import BackupCore
import Synchronization
import SystemIO

/// A live media file as part of something larger. It is opened when it is read: an archive of 100,000 files must not hold 100,000 descriptors.
final class MediaFileSource: ByteSource {
    private let media: LiveMedia
    private let path: ArraySlice<FileName>
    private let item: LiveMedia.Item
    private let openFiles: OpenMediaFiles

    init(_ path: ArraySlice<FileName>, _ item: LiveMedia.Item, in media: LiveMedia, _ openFiles: OpenMediaFiles) {
        self.media = media
        self.path = path
        self.item = item
        self.openFiles = openFiles
    }

    /// - Throws: `inputOutput` when the file has changed: a mix of two states would be worse.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let file = try openFiles.file(path) { () throws(BackupError) in try media.open(path, expected: item.status) }
        let count = try file.read(at: offset, into: buffer)
        let now = try file.status()
        guard now.size == item.status.size, now.modificationTime == item.status.modificationTime else {
            throw BackupError(.inputOutput, "the file changed while it was read", path: file.path, remedy: "Try again.")
        }
        return count
    }

    /// Its path in the media folder, in the form used in lists.
    var joinedPath: [UInt8] { Array(path.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }

    /// - Throws: `inputOutput` when the file has changed.
    func checksums(_ known: LiveChecksums) throws(BackupError) -> Checksums {
        try known.checksums(of: item) { () throws(BackupError) in try media.open(path, expected: item.status) }
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
