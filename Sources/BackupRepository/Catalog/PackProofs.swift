import BackupCore
import Synchronization
import SystemIO

/// The indexes of packs, for a writer that is about to rely on catalog rows. Eight bytes for each chunk.
final class PackProofs: Sendable {
    /// The rows that the catalog must have for a pack.
    struct Rows {
        /// `CatalogRowSum` of each, sorted.
        private let sums: [UInt64]

        init(_ index: PackIndex, of pack: PackID) { sums = index.storedChunks(in: pack).map(CatalogRowSum.of).sorted() }

        func contains(_ chunk: StoredChunk) -> Bool {
            let sum = CatalogRowSum.of(chunk)
            let position = sums.partitioningIndex { $0 >= sum }
            return position < sums.count && sums[position] == sum
        }
    }

    private struct Proof {
        /// The pack's status when its index was read.
        let file: FileStatus
        /// `nil` for a pack that cannot be read.
        let rows: Rows?
        /// The round in which the file was last checked.
        var round: Int
    }

    private struct State {
        var round = 0
        var readCount = 0
        var proofs: [PackID: Proof] = [:]
    }

    private let state = Mutex(State())

    /// How many indexes were read; for tests.
    var readCount: Int { state.withLock { $0.readCount } }

    /// Starts a new round: each pack's file is checked once more. Packs that could not be read are read again.
    func begin() {
        state.withLock { state in
            state.round += 1
            state.proofs = state.proofs.filter { $0.value.rows != nil }
        }
    }

    /// - Parameters:
    ///   - path: of the pack's file.
    ///   - read: reads the pack's index; `nil` when it cannot be read.
    /// - Returns: `nil` for a pack that is gone or unreadable.
    func rows(
        of pack: PackID, path: String, _ read: () throws(BackupError) -> PackIndex?
    ) throws(BackupError) -> Rows? {
        let (round, known) = state.withLock { ($0.round, $0.proofs[pack]) }
        if let known, known.round == round { return known.rows }
        guard let file = try FileSystem.look(path) else { return nil }
        var proof: Proof
        if let known, known.file == file {
            proof = known
            proof.round = round
        } else {
            proof = Proof(file: file, rows: try read().map { Rows($0, of: pack) }, round: round)
            state.withLock { $0.readCount += 1 }
        }
        state.withLock { $0.proofs[pack] = proof }
        return proof.rows
    }
}
