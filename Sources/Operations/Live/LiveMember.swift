import BackupCore
import SystemIO

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
