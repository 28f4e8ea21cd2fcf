import BackupCore

/// The packs of the large parts of contents: a backup that takes such a content from an earlier snapshot looks for a few packs
/// instead of tens of thousands of chunks.
///
/// A part is a content list: an export has those of its collections, and a changed database most of its earlier ones.
/// A pack's name is the SHA-256 of its index, which names the chunks in it. So the packs that hold a content hold it for as long
/// as they are there and are what their names say.
extension Catalog {
    /// More packs are not kept.
    private static let packCountLimit = 4_096

    /// The packs that hold all chunks of a part, its lists and the bases of its chunks; `nil` if that is not known.
    func packs(of part: FileContent) -> Set<PackID>? {
        guard let bytes = value(.packs, of: part.fingerprint), !bytes.isEmpty else { return nil }
        var packs: Set<PackID> = []
        var reader = ByteReader(bytes)
        while !reader.isAtEnd {
            guard let digest = try? reader.readDigest(SHA256Digest.self) else { return nil }
            packs.insert(PackID(digest))
        }
        return packs
    }

    /// Keeps the packs of a part.
    /// - Parameter places: those of its chunks and lists.
    func keepPacks(of part: FileContent, _ places: consuming ContentPlaces) {
        guard let packs = places.packs(), packs.count <= Self.packCountLimit else { return }
        keep(.packs, [(part.fingerprint, packs.sorted().flatMap(\.digest.bytes))])
    }
}

extension FileContent {
    /// Whether it is looked at in parts.
    public var isLarge: Bool { size >= 32 << 20 }
}

extension FileContent.Element {
    /// A large part of a large content: the content of its list alone.
    public var part: FileContent? {
        guard case .list(_, let byteCount) = self, byteCount >= 8 << 20 else { return nil }
        return FileContent(elements: [self])
    }
}

/// Where the chunks of a content are stored, as the packs themselves say.
struct ContentPlaces {
    private let catalog: Catalog
    private var held: Set<PackID> = []
    private var bases: Set<ChunkID> = []
    private var lists: [ChunkID] = []
    /// Whether each chunk so far is in a pack that new backups may rely on.
    private var isProved = true

    init(_ catalog: Catalog) { self.catalog = catalog }

    mutating func insert(list id: ChunkID) { lists.append(id) }

    /// - Parameter chunk: as the catalog has it.
    mutating func insert(_ chunk: StoredChunk) {
        guard isProved else { return }
        isProved = (try? catalog.isInPack(chunk)) == true
        insert(intact: chunk)
    }

    /// - Parameter chunk: of `Catalog.findIntact`.
    mutating func insert(intact chunk: StoredChunk) {
        held.insert(chunk.pack)
        if let base = chunk.base { bases.insert(base) }
    }

    /// - Returns: `nil` if a chunk is not where it should be.
    mutating func packs() -> Set<PackID>? {
        guard isProved, let found = try? catalog.findIntact(lists) else { return nil }
        for list in found {
            guard let list else { return nil }
            insert(intact: list)
        }
        guard let found = try? catalog.findIntact(Array(bases)) else { return nil }
        for base in found {
            guard let base, base.base == nil else { return nil }
            held.insert(base.pack)
        }
        return held.isEmpty ? nil : held
    }
}
