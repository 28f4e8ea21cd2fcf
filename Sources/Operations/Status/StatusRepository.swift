import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// What a status tells of the repository. Its storage may not answer, or be gone: then it is what was known before, with why and of when.
final class StatusRepository: Sendable {
    struct Facts: Sendable {
        /// This store's own, in the order in which they were made.
        var snapshots: [Snapshot]
        var otherSnapshotCount: Int
        var successorNotice: Message?
        var safetyBackupCount: Int
        /// `nil` when that cannot be looked up.
        var removedBackupCount: Int?
        /// Why it could not be looked at now.
        var problem: BackupError?
        /// When it was looked at.
        var time: Timestamp
    }

    private let patience: StoragePatience
    private let known = Mutex<(facts: Facts?, question: PatientQuestion<Result<Facts, BackupError>>?)>((nil, nil))

    init(_ patience: StoragePatience) { self.patience = patience }

    /// Looks at it, in the calling thread.
    /// - Throws: when it cannot be looked at.
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

    /// For those who cannot wait.
    func facts(_ store: Store) -> Facts {
        let question = known.withLock { known in
            let question =
                known.question
                ?? PatientQuestion(patience) { [weak self, weak store] in
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
