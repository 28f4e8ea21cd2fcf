import BackupCore
import CopyVerify
import Operations
import SystemIO

/// The sets of destinations of a mounted store, by the settings as last read.
final class CopySetHost: Sendable {
    private let store: Store
    /// By their names; also those that are no longer in the settings, until their jobs have ended.
    private let sets = Monitor<[String: CopySet]>([:])
    /// How long after the last file a job ends.
    private let idleSeconds = Environment.text("BACKUPFS_COPY_IDLE_SECONDS").flatMap { Double($0) } ?? 10

    init(store: Store) { self.store = store }

    var names: [String] { store.copySets.map(\.name) }

    /// Never waits for a disk: a set whose disk does not respond must not keep the others waiting.
    /// - Returns: `nil` when there is none of that name. One whose settings have changed stays as it was while files are open.
    func set(named name: String) -> CopySet? {
        let place = store.copySets.first { $0.name == name }
        return sets.withLock { sets in
            let known = sets[name]
            if let known, !known.isClosed, known.place == place || !known.closeIfUnused() { return known }
            let predecessor = known?.hasEnded == false ? known : nil
            guard let place else {
                sets[name] = predecessor
                return nil
            }
            let new = make(place, after: predecessor)
            sets[name] = new
            return new
        }
    }

    private func make(_ place: CopySetPlace, after predecessor: CopySet?) -> CopySet {
        CopySet(
            place, spool: "\(store.paths.spool)/copy-\(place.name)", jobs: store.paths.jobs, store: store.paths.root,
            idleSeconds: idleSeconds, after: predecessor
        ) { [store] in
            FolderCopyLog(store).noteBeginning()
        } onFailure: { name, error in
            // close(2) can only return a number.
            Terminal.writeError("backupfs: \(MessageText.name(name)) was not copied to every destination. \(error.fullText)")
        } onEnd: { [store] folder, result in
            MountedJobEnd(store: store).conclude(folder, result, startedAt: folder.record.createdAt)
        }
    }

    /// Lets the jobs end. Does not wait for that.
    func beginEnding() { for set in sets.withLock({ Array($0.values) }) { set.close() } }

    /// Ends the jobs, and waits until their records say so.
    func end() {
        beginEnding()
        let known = sets.withLock { sets in
            defer { sets = [:] }
            return Array(sets.values)
        }
        for set in known { set.waitForEnd() }
    }
}
