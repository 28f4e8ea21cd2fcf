import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// The repository's facts for a status. Its storage may not respond, or be gone: then these are the last known facts, with the
/// reason and their time.
final class StatusRepository: Sendable {
    struct Facts: Sendable {
        /// This store's own, in order of creation.
        var snapshots: [Snapshot]
        var otherSnapshotCount: Int
        var successorNotice: Message?
        var safetyBackupCount: Int
        /// `nil` when that cannot be determined.
        var removedBackupCount: Int?
        /// Why it could not be examined now.
        var problem: BackupError?
        /// When it was examined.
        var time: Timestamp
    }

    private let patience: StorageTimeout
    private let known = Mutex<(facts: Facts?, question: StorageQuery<Result<Facts, BackupError>>?)>((nil, nil))

    init(_ patience: StorageTimeout) { self.patience = patience }

    /// Reads the facts on the calling thread.
    /// - Throws: when it cannot be examined.
    func read(_ store: Store) throws(BackupError) -> Facts {
        try store.repository.refresh()
        let time = SystemClock.now()
        let snapshots = store.ownSnapshots(kind: .snapshot)
        let facts = Facts(
            snapshots: snapshots, otherSnapshotCount: store.repository.snapshots(kind: .snapshot).count - snapshots.count,
            successorNotice: store.successorNotice, safetyBackupCount: store.ownSnapshots(kind: .safety).count,
            removedBackupCount: try? store.ownRemovedSnapshots().count, time: time)
        known.withLock { $0.facts = facts }
        return facts
    }

    /// For callers that cannot wait.
    func facts(_ store: Store) -> Facts {
        let question = known.withLock { known in
            let question =
                known.question
                ?? StorageQuery(patience) { [weak self, weak store] in
                    Result { () throws(BackupError) in
                        guard let self, let store else { throw Self.noAnswer }
                        return try self.read(store)
                    }
                }
            known.question = question
            return question
        }
        let answer = question.answer() ?? .failure(Self.noAnswer)
        switch answer {
        case .success(let facts): return facts
        case .failure(let error):
            // Opening the repository has read the list.
            let own = store.ownSnapshots(kind: .snapshot)
            var facts =
                known.withLock { $0.facts }
                ?? Facts(
                    snapshots: own, otherSnapshotCount: store.repository.snapshots(kind: .snapshot).count - own.count,
                    safetyBackupCount: store.ownSnapshots(kind: .safety).count, time: store.openingTime)
            facts.problem = error
            return facts
        }
    }

    private static var noAnswer: BackupError {
        BackupError(
            .inputOutput, "the repository does not answer", remedy: "Check whether its disk or its server can be reached.")
    }
}
