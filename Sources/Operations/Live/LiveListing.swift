import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// `SHA256SUMS` of the live files. Its size follows from their paths; its lines need a checksum of each file, and are made on the first read.
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
