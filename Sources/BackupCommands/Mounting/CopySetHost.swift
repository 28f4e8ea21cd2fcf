import BackupCore
import CopyVerify
import Operations
import SystemIO

/// The sets of destinations of a mounted store, by the settings as last read.
final class CopySetHost: Sendable {
    private let store: Store
    private let sets = Monitor<[String: CopySet]>([:])
    /// How long after the last file a job ends.
    private let idleSeconds = Environment.text("BACKUPFS_COPY_IDLE_SECONDS").flatMap { Double($0) } ?? 10

    init(store: Store) { self.store = store }

    var names: [String] { store.copySets.map(\.name) }

    /// - Returns: `nil` when there is none of that name. One whose settings have changed stays as it was while files are open.
    func set(named name: String) -> CopySet? {
        let place = store.copySets.first { $0.name == name }
        return sets.withLock { sets in
            if let known = sets[name] {
                if known.place == place { return known }
                guard known.closeIfUnused() else { return known }
                // Its job ends first: both have one place in the spool.
                known.close()
            }
            let new = place.map { make($0) }
            sets[name] = new
            return new
        }
    }

    private func make(_ place: CopySetPlace) -> CopySet {
        CopySet(
            place, spool: "\(store.paths.spool)/copy-\(place.name)", jobs: store.paths.jobs, store: store.paths.root,
            idleSeconds: idleSeconds
        ) { name, error in
            // close(2) can only return a number.
            Terminal.writeError("backupfs: \(MessageText.name(name)) was not copied to every destination. \(error.fullText)")
        } onEnd: { folder, result in
            switch result {
            case .success(.completed): return
            case .success:
                Terminal.writeError(
                    "backupfs: not everything was copied by the job \(folder.record.id). All errors are in \(folder.errors)")
            case .failure(let error):
                Terminal.writeError("backupfs: the job \(folder.record.id) has ended. \(error.fullText)")
            }
        }
    }

    /// Ends the jobs, and waits until their records say so.
    func end() {
        let known = sets.withLock { sets in
            defer { sets = [:] }
            return Array(sets.values)
        }
        for set in known { set.close() }
    }
}
