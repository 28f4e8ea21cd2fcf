import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// The backups of a store that have stored records, oldest first, and which records differ from one to the next. It grows as
/// it is asked for; what a backup has never changes.
final class RecordLine: Sendable {
    struct Backup: Sendable {
        let snapshot: Snapshot
        /// By name.
        let collections: [String: FileContent]
    }

    /// The line at one moment.
    struct State: Sendable {
        fileprivate let snapshots: [Snapshot]
        let backups: [Backup]
        /// One less than backups.
        let steps: [RecordStep]
        /// The backups that cannot be read.
        let failures: [(backup: FileName, error: BackupError)]

        /// The names of all collections.
        var collections: Set<String> { backups.reduce(into: []) { $0.formUnion($1.collections.keys) } }
    }

    private struct StepKey: Hashable {
        let old: SnapshotID
        let new: SnapshotID
    }

    private struct Known {
        var state: State?
        var collections: [SnapshotID: [String: FileContent]?] = [:]
        var steps: [StepKey: RecordStep] = [:]
    }

    private let repository: Repository
    private let keyLimitBytes: Int
    private let keyName: @Sendable (String) -> String?
    private let known = Mutex(Known())

    /// - Parameters:
    ///   - keyLimitBytes: of the keys of all steps, in memory. Beyond it, what the older steps changed is not known.
    ///   - keyName: of a collection, if it is known.
    init(in repository: Repository, keyLimitBytes: Int, keyName: @escaping @Sendable (String) -> String?) {
        self.repository = repository
        self.keyLimitBytes = keyLimitBytes
        self.keyName = keyName
    }

    /// - Parameter snapshots: of the store, in the order in which they were made.
    /// - Throws: errors other than damage, which is in the state.
    func state(of snapshots: [Snapshot]) throws(BackupError) -> State {
        // One at a time: a second request finds what the first one has read.
        try known.withLock { (known) throws(BackupError) in
            if let state = known.state, state.snapshots.sharesStorage(with: snapshots) { return state }
            let state = try makeState(of: snapshots, &known)
            // What cannot be read now may be readable later.
            known.state = state.failures.isEmpty ? state : nil
            return state
        }
    }

    private func makeState(of snapshots: [Snapshot], _ known: inout Known) throws(BackupError) -> State {
        let ids = Set(snapshots.map(\.id))
        known.collections = known.collections.filter { ids.contains($0.key) }
        var backups: [Backup] = []
        var failures: [(backup: FileName, error: BackupError)] = []
        for snapshot in snapshots {
            try Cancellation.check()
            do throws(BackupError) {
                guard let collections = try collections(of: snapshot, &known) else { continue }
                backups.append(Backup(snapshot: snapshot, collections: collections))
            } catch {
                guard error.code == .repositoryDamaged else { throw error }
                failures.append((snapshot.name, error))
            }
        }
        let steps = try steps(backups, &known)
        return State(snapshots: snapshots, backups: backups, steps: steps, failures: failures)
    }

    /// - Returns: `nil` for a backup that does not store its records.
    private func collections(
        of snapshot: Snapshot, _ known: inout Known
    ) throws(BackupError) -> [String: FileContent]? {
        if let known = known.collections[snapshot.id] { return known }
        let stored = try StoredCollections(of: snapshot, in: repository)
        var collections: [String: FileContent]?
        if stored.areStored {
            collections = Dictionary(stored.entries.map { (StoredCollections.name(of: $0), $0.content) }) { first, _ in first }
        }
        known.collections[snapshot.id] = .some(collections)
        return collections
    }

    private func steps(_ backups: [Backup], _ known: inout Known) throws(BackupError) -> [RecordStep] {
        var steps: [RecordStep] = []
        var kept: [StepKey: RecordStep] = [:]
        for (old, new) in zip(backups, backups.dropFirst()) {
            let key = StepKey(old: old.snapshot.id, new: new.snapshot.id)
            let step =
                if let step = known.steps[key] { step } else {
                    try RecordStep(from: old, to: new, in: repository, keyName: keyName)
                }
            kept[key] = step
            // If this is cancelled, the next one goes on here.
            known.steps[key] = step
            steps.append(step)
        }
        var sizeBytes = 0
        for index in steps.indices.reversed() {
            sizeBytes += steps[index].sizeBytes
            guard sizeBytes > keyLimitBytes else { continue }
            steps[index].forgetKeys()
            kept[StepKey(old: backups[index].snapshot.id, new: backups[index + 1].snapshot.id)] = steps[index]
        }
        known.steps = kept
        return steps
    }
}
