import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// `SHA256SUMS` of the live files. Its size follows from their paths; its lines need a checksum of each file, and are made on the
/// first read.
final class LiveListing: ByteSource {
    /// What is kept of a file until then: for a media file, no more than an archive keeps anyway.
    private enum File: Sendable {
        case media(MediaFileSource)
        case made(path: [UInt8], LiveEntry)
    }

    /// Size in bytes.
    let size: UInt64
    private let files: [File]
    private let known: LiveChecksums
    private let made = Mutex<[UInt8]?>(nil)

    private static let zeroDigest = String(repeating: "0", count: SHA256Digest.byteCount * 2)

    init(_ members: [LiveMember], _ known: LiveChecksums) {
        let listed = members.filter { $0.entry.kind == .file }
        size = listed.reduce(0) { $0 + UInt64(ChecksumListing.line(digest: Self.zeroDigest, path: $1.path).count) }
        files = listed.map { member in member.source.map { .media($0) } ?? .made(path: member.path, member.entry) }
        self.known = known
    }

    /// - Throws: `inputOutput` when a file has changed since it was listed.
    func text() throws(BackupError) -> [UInt8] {
        if let text = made.withLock({ $0 }) { return text }
        var text: [UInt8] = []
        text.reserveCapacity(Int(size))
        for file in files {
            switch file {
            case .media(let source):
                text += ChecksumListing.line(
                    digest: try source.checksums(known).sha256.hexadecimal, path: Array("media/".utf8) + source.joinedPath)
            case .made(let path, let entry):
                text += ChecksumListing.line(digest: try entry.checksums().sha256.hexadecimal, path: path)
            }
        }
        made.withLock { $0 = text }
        return text
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let text = try text()
        guard offset < UInt64(text.count) else { return 0 }
        let rest = text[Int(offset)...].prefix(buffer.count)
        rest.withUnsafeBytes { buffer.copyMemory(from: $0) }
        return rest.count
    }
}

/// A file, folder or link of `live/` that goes into the archives and the checksum list.
struct LiveMember: Sendable {
    /// Relative to `live/`, without a trailing slash.
    let path: [UInt8]
    let entry: LiveEntry
    /// For media files: the file as it was when its size was reported.
    var source: MediaFileSource?
    /// For links.
    var linkTarget: [UInt8] = []

    /// The bytes, without keeping a file open for each.
    func content() throws(BackupError) -> [ContentPiece] {
        guard entry.size > 0 else { return [] }
        switch entry.kind {
        case .directory: return []
        case .symbolicLink: return [.literal(linkTarget)]
        case .file:
            if let source { return [.source(source, offset: 0, length: entry.size)] }
            return [.source(TableSource(try entry.content()), offset: 0, length: entry.size)]
        }
    }

    /// Pieces as long as the content; for a link, its target itself.
    /// - Parameter placeholder: never read.
    func outline(_ placeholder: any ByteSource) -> [ContentPiece] {
        switch entry.kind {
        case .directory: []
        case .symbolicLink: [.literal(linkTarget)]
        case .file: entry.size == 0 ? [] : [.source(placeholder, offset: 0, length: entry.size)]
        }
    }

    /// The checksum of the content. It may require reading the file.
    func crc32(_ known: LiveChecksums) throws(BackupError) -> UInt32 {
        switch entry.kind {
        case .directory: return 0
        case .symbolicLink: return CRC32.of(linkTarget)
        case .file:
            if let source { return try source.checksums(known).crc32 }
            return try entry.checksums().crc32
        }
    }
}

/// A live media file as part of something larger. It is opened when it is read: an archive of 100,000 files must not hold 100,000
/// descriptors.
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
