import BackupCore
import Synchronization

/// Where chunks of earlier backups are stored, as a backup has found them: it looks at them again for the sizes of its archives.
/// Valid while the backup's lock keeps prunes from removing packs.
public final class KnownPlaces: Sendable {
    /// Of chunks: about 11 MB of memory. More are looked up again.
    private static let countLimit = 32 << 10

    private let places = Mutex<[ChunkID: StoredChunk]>([:])

    /// Only chunks that are stored whole: of two forms of a chunk, an archive has that one.
    func note(_ chunks: [StoredChunk?]) {
        places.withLock { places in
            // Growing step by step moves everything several times.
            let count = min(places.count + chunks.count, Self.countLimit)
            if count > places.capacity { places.reserveCapacity(max(count, min(places.count * 2, Self.countLimit))) }
            for case .some(let chunk) in chunks where chunk.base == nil && places.count < Self.countLimit {
                places[chunk.id] = chunk
            }
        }
    }

    /// - Returns: the places in the order of `ids`; `nil` for what is not known here.
    func find(_ ids: [ChunkID]) -> [StoredChunk?] { places.withLock { places in ids.map { places[$0] } } }
}
