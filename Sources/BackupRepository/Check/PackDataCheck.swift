import BackupCore
import Glibc
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
                    progress?(.step("Reading all data...", state.finishedCount, of: packs.count, bytes: state.byteCount))
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
            // What was read once proves nothing about what the storage holds now.
            try repository.layout.packSource?.renew(pack)
            let chunks = try repository.readPackIndex(of: pack).storedChunks(in: pack)
            var number = 0
            try reader.read(chunks, of: pack) { (chunk, stored) throws(BackupError) in
                defer { number += 1 }
                switch stored {
                case .failure(let error):
                    // A storage that cannot be reached proves no damage.
                    if repository.isRemote, error.code != .repositoryDamaged, error.code != .damagedContent { throw error }
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

/// Which packs a check reads.
public enum DataSubset: Sendable, Equatable {
    case all
    /// This share of the packs, chosen at random for each check; at least one pack.
    case percent(Double)
    /// The first, second, … of a number of parts. A part always has the same packs, and all parts together cover all packs.
    case part(Int, of: Int)

    /// `10%`, `2.5%` or `1/5`, as in restic.
    /// - Throws: `usage`.
    public init(parsing text: String) throws(BackupError) {
        if text.hasSuffix("%"), let percent = Double(text.dropLast()), percent > 0, percent <= 100 {
            self = .percent(percent)
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, let part = Int(parts[0]), let count = Int(parts[1]), part >= 1, part <= count {
            self = .part(part, of: count)
            return
        }
        throw BackupError(
            .usage, "“\(MessageText.shortened(text))” is not a part of a repository",
            remedy: "Give a percentage such as 10%, or a part such as 1/5.")
    }

    func select(_ packs: [PackInventory.Pack]) -> [PackInventory.Pack] { select(packs) { $0.id } }

    /// - Parameters:
    ///   - packs: sorted by their IDs.
    ///   - id: the ID of one of them.
    func select<Pack>(_ packs: [Pack], id: (Pack) -> PackID) -> [Pack] {
        switch self {
        case .all: return packs
        case .percent(let percent):
            let count = Int((Double(packs.count) * percent / 100).rounded(.up))
            return Array(packs.shuffled().prefix(count)).sorted { id($0) < id($1) }
        case .part(let part, let count):
            return packs.filter { pack in
                // The name is a digest, so its first bytes are evenly distributed.
                let number = id(pack).digest.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
                return number % UInt64(count) == UInt64(part - 1)
            }
        }
    }
}

/// A list that several threads append to.
final class LockedArray<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])

    func append(_ value: Value) { list.withLock { $0.append(value) } }

    var values: [Value] { list.withLock { $0 } }
}

/// Reads the chunks of whole packs from start to end, many in one call, at disk speed. For one thread at a time.
final class PackDataReader {
    /// The number of bytes to read in one call. A larger chunk is read alone.
    private static let runByteCount = 8 << 20

    private let layout: RepositoryLayout
    /// How many bytes a chunk takes in a pack beyond its stored bytes.
    private let overheadByteCount: Int
    private var buffer: [UInt8] = []

    init(_ repository: Repository) {
        layout = repository.layout
        overheadByteCount = RepositoryProtection.overheadByteCount(isSealed: repository.protection.isSealing)
    }

    /// Calls `body` with each chunk and its bytes as stored in the pack (sealed, in an encrypted repository), or with the error
    /// that prevented reading them.
    /// - Parameter chunks: of one pack, sorted by offset. In a damaged pack they may overlap or extend beyond its end; the latter
    ///   get an error.
    /// - Throws: errors of opening the pack, and those of `body`; `interrupted`, which says nothing about the chunk.
    func read(
        _ chunks: [StoredChunk], of pack: PackID,
        _ body: (StoredChunk, Result<UnsafeRawBufferPointer, BackupError>) throws(BackupError) -> Void
    ) throws(BackupError) {
        let file = try layout.openPack(pack)
        _ = posix_fadvise(file.rawDescriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
        var first = 0
        while first < chunks.count {
            let end = endOfRun(chunks, from: first)
            if end < chunks.count {
                // While this run is processed, the disk reads the next one ahead.
                let next = chunks[end]
                file.expectReading(at: next.packOffset, count: UInt64(Self.runByteCount))
            }
            try read(chunks[first..<end], file, body)
            first = end
        }
    }

    private func end(of chunk: StoredChunk) -> UInt64 {
        chunk.packOffset + UInt64(chunk.storedLength) + UInt64(overheadByteCount)
    }

    /// As many chunks as are close together and fit. The first one alone may be longer.
    private func endOfRun(_ chunks: [StoredChunk], from first: Int) -> Int {
        let start = chunks[first].packOffset
        var end = first + 1
        while end < chunks.count, self.end(of: chunks[end]) - start <= UInt64(Self.runByteCount) {
            end += 1
        }
        return end
    }

    private func read(
        _ run: ArraySlice<StoredChunk>, _ file: SharedFile,
        _ body: (StoredChunk, Result<UnsafeRawBufferPointer, BackupError>) throws(BackupError) -> Void
    ) throws(BackupError) {
        guard let start = run.first?.packOffset, let runEnd = run.lazy.map(end(of:)).max() else { return }
        // If chunks overlap, the last one need not have the highest end.
        let count = Int(runEnd - start)
        // No longer than a small pack: most of an update's packs are small, and memory is cleared first.
        let usefulCount = min(Int(clamping: file.size), Self.runByteCount)
        if buffer.count < count { buffer = [UInt8](repeating: 0, count: max(count, usefulCount)) }
        try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
            let all = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
            // If a part of the disk cannot be read, the chunks around it may still be readable one by one.
            let isWhole = (try? file.read(at: start, into: all)) == count
            for chunk in run {
                let offset = Int(chunk.packOffset - start)
                let part = UnsafeMutableRawBufferPointer(rebasing: all[offset..<Int(end(of: chunk) - start)])
                var failure: BackupError?
                if !isWhole {
                    do throws(BackupError) {
                        if try file.read(at: chunk.packOffset, into: part) < part.count {
                            failure = BackupError(.repositoryDamaged, "the pack ends within it", path: file.path)
                        }
                    } catch {
                        if error.code == .interrupted { throw error }
                        failure = error
                    }
                }
                try body(chunk, failure.map { .failure($0) } ?? .success(UnsafeRawBufferPointer(part)))
            }
        }
    }
}
