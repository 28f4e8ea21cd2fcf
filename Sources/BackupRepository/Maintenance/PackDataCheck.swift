import BackupCore
import Synchronization
import SystemIO

/// Reads packs from start to end and compares every chunk with its name, on all cores.
struct PackDataCheck {
    /// The results for a pack.
    struct Outcome: Sendable {
        let pack: PackID
        /// Chunks whose own bytes are damaged, by their number in the index.
        var damaged: [(number: Int, chunk: ChunkID, error: BackupError)] = []
        /// Chunks that lack their base; the base is reported elsewhere.
        var withoutBase: [(number: Int, chunk: ChunkID, error: BackupError)] = []
        /// Why the pack could not be read at all.
        var failure: BackupError?
        /// Bytes read.
        var byteCount: UInt64 = 0
    }

    private struct State: Sendable {
        var next = 0
        var finishedCount = 0
        var byteCount: UInt64 = 0
    }

    /// More threads would only wait for the disk.
    private static let threadLimit = 8

    let repository: Repository

    /// - Parameters:
    ///   - progress: called for each pack; from several threads, one at a time.
    ///   - body: called for each pack; from several threads, one at a time.
    func run(_ packs: [PackID], progress: ProgressHandler?, _ body: @escaping @Sendable (Outcome) -> Void) {
        let state = Mutex(State())
        let threadCount = max(1, min(WorkerPool.processorCount, Self.threadLimit, packs.count))
        // Each thread takes the next pack until there is none, and so keeps its buffers. The calling thread is one of them.
        let work: WorkerPool.Work = { [repository] in
            let reader = PackDataReader(repository)
            let verifier = ChunkVerifier(repository)
            while true {
                let number = state.withLock { state in
                    state.next += 1
                    return state.next - 1
                }
                guard number < packs.count else { return }
                let outcome = Self.check(packs[number], repository, reader, verifier)
                state.withLock { state in
                    state.finishedCount += 1
                    state.byteCount += outcome.byteCount
                    body(outcome)
                    progress?(
                        OperationProgress(
                            phase: "Reading all data...", processedItems: UInt64(state.finishedCount),
                            totalItems: UInt64(packs.count), processedBytes: state.byteCount))
                }
            }
        }
        let pool = WorkerPool(threadCount: threadCount - 1, queueLimit: threadCount - 1)
        for _ in 1..<threadCount { pool.submit(work) }
        work()
        pool.end()
    }

    static func check(
        _ pack: PackID, _ repository: Repository, _ reader: PackDataReader, _ verifier: ChunkVerifier
    ) -> Outcome {
        var outcome = Outcome(pack: pack)
        do {
            let chunks = try repository.packIndex(of: pack).storedChunks(in: pack)
            var number = 0
            try reader.read(chunks, of: pack) { (chunk, stored) throws(BackupError) in
                defer { number += 1 }
                switch stored {
                case .failure(let error):
                    let damage = repository.chunkReader.damage(chunk, "it cannot be read: \(error.message)")
                    outcome.damaged.append((number, chunk.id, damage))
                case .success(let bytes):
                    outcome.byteCount += UInt64(bytes.count)
                    switch verifier.verify(chunk, bytes) {
                    case .sound: break
                    case .damaged(let error): outcome.damaged.append((number, chunk.id, error))
                    case .withoutBase(let error): outcome.withoutBase.append((number, chunk.id, error))
                    }
                }
            }
        } catch {
            outcome.failure = error
        }
        return outcome
    }
}

extension Repository {
    /// A pack's own index.
    func packIndex(of pack: PackID) throws(BackupError) -> PackIndex {
        try PackIndex.read(try SharedFile(path: layout.packPath(of: pack)), pack: pack, protection: protection)
    }
}
