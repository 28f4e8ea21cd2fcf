/// How a file is cut into chunks and whether these are compressed, depending on its kind of data.
public enum ChunkingPolicy: Hashable, Sendable {
    /// Large content-defined chunks, stored raw unless they clearly compress: photos, videos, archives.
    case media
    /// Small content-defined chunks, compressed: exported rows, JSON, CSV, text.
    case structuredText
    /// Pieces of equal length that hold whole pages, compressed: a changed row then affects only its page's piece.
    /// - Parameter pageSizeBytes: the SQLite database's page size.
    case database(pageSizeBytes: Int)
    /// Small content-defined chunks, compressed: the repository's own structures.
    case metadata

    var compression: ChunkEncoder.Compression {
        switch self {
        case .media: .whenClear
        case .structuredText, .database, .metadata: .whenSmaller
        }
    }

    /// Whether chunks keep their places in the file when some of them change.
    var isPositional: Bool {
        if case .database = self { true } else { false }
    }

    var packKind: PackKind { self == .metadata ? .metadata : .data }
}
