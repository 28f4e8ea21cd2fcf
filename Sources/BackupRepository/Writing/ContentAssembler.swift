import BackupCore
import Synchronization

/// Receives the chunks of one file once they are named: puts them into order, builds
/// the file's content from them, and decides which of them must be stored. Thread-safe.
final class ContentAssembler: Sendable {
    /// What to do with a chunk.
    enum Verdict: Sendable {
        case isStored
        case store(similar: StoredChunk?)
    }

    /// A chunk with its name.
    struct NamedChunk: Sendable {
        let id: ChunkID
        let bytes: [UInt8]
    }

    private struct State {
        var list: ContentListBuilder
        var base: BaseMatcher?
        /// Chunks that arrived before their predecessors.
        var early: [Int: NamedChunk] = [:]
        var next = 0
    }

    private let store: ChunkStore
    private let state: Mutex<State>

    init(store: ChunkStore, policy: ChunkingPolicy, base: sending BaseMatcher?) {
        self.store = store
        let list = ContentListBuilder(isPositional: policy.isPositional) { [store] (list, earlier) throws(BackupError) in
            try store.storeList(list, earlier: earlier)
        }
        state = Mutex(State(list: list, base: base))
    }

    /// Takes the next chunk of a file that a single thread reads.
    func append(_ id: ChunkID, length: Int) throws(BackupError) -> Verdict {
        try state.withLock { (state) throws(BackupError) in
            try take(id, length, &state)
        }
    }

    /// Takes chunk number `index`, in any order.
    /// - Returns: the chunks that are now in order and must be stored.
    func insert(
        _ chunk: NamedChunk, at index: Int
    ) throws(BackupError) -> [(chunk: NamedChunk, similar: StoredChunk?)] {
        try state.withLock { (state) throws(BackupError) in
            state.early[index] = chunk
            var result: [(chunk: NamedChunk, similar: StoredChunk?)] = []
            while let chunk = state.early.removeValue(forKey: state.next) {
                state.next += 1
                if case .store(let similar) = try take(chunk.id, chunk.bytes.count, &state) { result.append((chunk, similar)) }
            }
            return result
        }
    }

    func finish() throws(BackupError) -> FileContent {
        try state.withLock { (state) throws(BackupError) in try state.list.finish() }
    }

    private func take(_ id: ChunkID, _ length: Int, _ state: inout State) throws(BackupError) -> Verdict {
        var verdict = Verdict.store(similar: nil)
        if state.base != nil, let match = try state.base?.observe(id) {
            switch match {
            case .same(let chunk):
                store.rely(on: chunk)
                verdict = .isStored
            case .similar(let chunk): verdict = .store(similar: chunk)
            case .nothing: break
            }
        }
        try state.list.append(.chunk(id, plainLength: UInt32(length)), earlier: state.base?.list)
        return verdict
    }
}
