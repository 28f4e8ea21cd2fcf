import BackupCore
import SystemIO

/// Finds what is left in a pack whose header, index or footer is damaged.
struct PackSalvage {
    /// The longest index that this program writes.
    private static let indexByteCountLimit = OpenPack.chunkCountLimit * 81 + 8
    private static let packByteCountLimit: UInt64 = 512 << 20

    let repository: Repository

    /// What was found in a pack.
    struct Found {
        let kind: PackKind
        /// Chunks that are, or may be, in the pack, sorted by offset. Each of them has to be verified.
        let chunks: [StoredChunk]
        /// The pack that the index in the file belongs to, if it is another one: the file has that pack's bytes.
        var otherPack: PackID?
    }

    func candidates(_ pack: PackID) throws(BackupError) -> Found {
        let file = try repository.layout.openPack(pack)
        var kind: PackKind?
        var chunks: [StoredChunk] = []
        var otherPack: PackID?
        if file.size <= Self.packByteCountLimit {
            let bytes = try file.readExactly(at: 0, count: Int(file.size))
            // A sealed index cannot be recognised: only the footer or the catalog can say where it begins.
            if !repository.protection.isSealing, let index = findIndex(in: bytes, of: pack) {
                return Found(kind: index.kind, chunks: index.storedChunks(in: pack))
            }
            // A damaged index is right about most of its chunks.
            if let index = damagedIndex(in: bytes, of: pack) {
                kind = index.kind
                chunks = index.storedChunks(in: pack)
                let name = PackID(SHA256Hasher.hash(index.encode()))
                otherPack = name == pack ? nil : name
            }
        }
        let known = try repository.catalog.chunks(of: pack)
        if let known {
            kind = known.kind
            let offsets = Set(chunks)
            chunks += known.chunks.filter { !offsets.contains($0) }
        }
        let end = file.size
        let overhead = UInt64(RepositoryProtection.overheadByteCount(isSealed: repository.protection.isSealing))
        return Found(
            kind: kind ?? .data,
            chunks: chunks.filter { $0.packOffset + UInt64($0.storedLength) + overhead <= end }.sorted {
                $0.packOffset < $1.packOffset
            },
            otherPack: otherPack)
    }

    /// The index of the pack in a file, if the pack's name proves it.
    func provenIndex(of pack: PackID, in path: String) throws(BackupError) -> PackIndex? {
        let file = try SharedFile(path: path)
        if let index = try? PackIndex.read(file, pack: pack, protection: repository.protection) { return index }
        guard file.size <= Self.packByteCountLimit, !repository.protection.isSealing else { return nil }
        return findIndex(in: try file.readExactly(at: 0, count: Int(file.size)), of: pack)
    }

    /// Searches for the index by the pack's name, since the footer with its position may be damaged or gone.
    private func findIndex(in bytes: [UInt8], of pack: PackID) -> PackIndex? {
        for missing in 0...StoredPackIndex.footerByteCount {
            let end = bytes.count - StoredPackIndex.footerByteCount + missing
            let lowest = max(StoredPackIndex.headerByteCount, end - Self.indexByteCountLimit)
            var start = end - 8
            // Each byte of a pack is looked at.
            while start >= lowest {
                defer { start -= 1 }
                guard bytes[start] <= 1, bytes[start + 1] == 0, bytes[start + 2] == 0, bytes[start + 3] == 0 else { continue }
                let count = (4..<8).reduce(0) { $0 | Int(bytes[start + $1]) << (($1 - 4) * 8) }
                let length = end - start - 8
                guard count * 49 <= length, length <= count * 81 else { continue }
                let candidate = Array(bytes[start..<end])
                if PackID(SHA256Hasher.hash(candidate)) == pack { return index(candidate) }
            }
        }
        return nil
    }

    /// The bytes at the position that the footer gives: corrected if a single bit flipped, else unchanged.
    private func damagedIndex(in bytes: [UInt8], of pack: PackID) -> PackIndex? {
        guard bytes.count >= StoredPackIndex.headerByteCount + StoredPackIndex.footerByteCount else { return nil }
        var footer = ByteReader(Array(bytes.suffix(StoredPackIndex.footerByteCount)))
        guard let chunkByteCount = try? footer.read(UInt64.self), let indexByteCount = try? footer.read(UInt32.self),
            chunkByteCount <= UInt64(bytes.count), Int(indexByteCount) <= bytes.count
        else { return nil }
        let start = StoredPackIndex.headerByteCount + Int(chunkByteCount)
        guard start + Int(indexByteCount) + StoredPackIndex.footerByteCount == bytes.count else { return nil }
        let found = Array(bytes[start..<start + Int(indexByteCount)])
        if let right = SingleBitRepair.repaired(found, sha256: pack.digest) { return index(right) }
        return index(found)
    }

    private func index(_ bytes: [UInt8]) -> PackIndex? {
        let isSealed = repository.protection.isSealing
        for kind in [PackKind.data, .metadata] {
            let header = StoredPackIndex.header(kind: kind, isSealed: isSealed)
            guard let plain = try? repository.protection.open(bytes, as: .packIndex(header: header)) else { continue }
            if let index = try? PackIndex(decoding: plain, isSealed: isSealed) { return index }
        }
        return nil
    }
}
