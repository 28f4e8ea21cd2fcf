import BackupCore

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

/// How a repository cuts files. It is fixed when the repository is created and is part of its `config`: with other cuts, existing
/// chunks would not be found.
struct ChunkerParameters: Hashable, Sendable {
    /// Lengths of content-defined chunks in bytes.
    struct Sizes: Hashable, Sendable {
        let minimumBytes: Int
        /// A power of two.
        let averageBytes: Int
        let maximumBytes: Int

        /// - Returns: `nil` for lengths that the chunker does not support.
        init?(minimumBytes: Int, averageBytes: Int, maximumBytes: Int) {
            guard minimumBytes >= 64, averageBytes > minimumBytes, maximumBytes > averageBytes,
                maximumBytes <= ChunkLimits.plainLengthBytes, averageBytes.nonzeroBitCount == 1, averageBytes >= 256
            else { return nil }
            self.init(minimumBytes, averageBytes, maximumBytes)
        }

        fileprivate init(_ minimumBytes: Int, _ averageBytes: Int, _ maximumBytes: Int) {
            self.minimumBytes = minimumBytes
            self.averageBytes = averageBytes
            self.maximumBytes = maximumBytes
        }
    }

    /// `nil` in an encrypted repository, where it is derived from the key.
    let gearSeed: UInt64?
    let media: Sizes
    let structuredText: Sizes
    let metadata: Sizes
    let databasePieceBytes: Int

    /// For new repositories. The seed spells "backupfs".
    static let standard = standard(gearSeed: 0x6261_636b_7570_6673)
    /// For new encrypted repositories.
    static let standardEncrypted = standard(gearSeed: nil)

    private static func standard(gearSeed: UInt64?) -> ChunkerParameters {
        ChunkerParameters(
            gearSeed: gearSeed, media: Sizes(256 << 10, 1 << 20, 4 << 20),
            structuredText: Sizes(2 << 10, 8 << 10, 32 << 10), metadata: Sizes(4 << 10, 16 << 10, 64 << 10),
            databasePieceBytes: 16 << 10)
    }

    /// Whether pieces have the same lengths, though perhaps at other places.
    func hasLengths(of other: ChunkerParameters) -> Bool {
        media == other.media && structuredText == other.structuredText && metadata == other.metadata
            && databasePieceBytes == other.databasePieceBytes
    }

    func cutter(for policy: ChunkingPolicy, gear: GearTable) -> ChunkCutter {
        switch policy {
        case .media: .contentDefined(ContentDefinedCutter(sizes: media, gear: gear))
        case .structuredText: .contentDefined(ContentDefinedCutter(sizes: structuredText, gear: gear))
        case .metadata: .contentDefined(ContentDefinedCutter(sizes: metadata, gear: gear))
        case .database(let pageSizeBytes):
            .fixed(FixedCutter(lengthBytes: databasePiece(pageSizeBytes: pageSizeBytes)))
        }
    }

    /// The length of most pieces of a file.
    func typicalPieceBytes(for policy: ChunkingPolicy) -> Int {
        switch policy {
        case .media: media.averageBytes
        case .structuredText: structuredText.averageBytes
        case .metadata: metadata.averageBytes
        case .database(let pageSizeBytes): databasePiece(pageSizeBytes: pageSizeBytes)
        }
    }

    /// A multiple of the page size: `databasePieceBytes` for all page sizes that divide it, else one page.
    private func databasePiece(pageSizeBytes: Int) -> Int {
        guard pageSizeBytes > 0, pageSizeBytes <= 65536 else { return databasePieceBytes }
        return max(pageSizeBytes, databasePieceBytes / pageSizeBytes * pageSizeBytes)
    }
}
