import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// A folder of a backup that `versions/` takes files from.
struct VersionSource: Sendable {
    let snapshot: Snapshot
    let folder: StoredFolder
}

/// The folders of this store's backups that have the same path.
struct VersionSourceList: Sendable {
    /// Oldest backup first, without folders whose whole content an older backup has at this path.
    var sources: [VersionSource] = []
    /// The backups that cannot be read here: a damaged one must not hide the versions in others.
    var failures: [(backup: FileName, error: BackupError)] = []
    /// Of the sources.
    fileprivate(set) var index = VersionIndex.empty

    /// - Throws: the first failure: where a backup could not be read, nothing proves that a name does not exist.
    func requireReadable() throws(BackupError) {
        if let failure = failures.first { throw failure.error }
    }
}

/// Finds the folders that `versions/` shows together, and remembers them until backups are made or removed. A folder is known by
/// the content of its directory object, which changes with everything below it: what did not change is looked at once, however
/// many backups have it.
final class VersionSources: Sendable {
    private struct State {
        var snapshots: [Snapshot] = []
        var lists: [[FileName]: (list: VersionSourceList, endNanoseconds: UInt64)] = [:]
        /// How much memory they take, in names and sources.
        var weight = 0
        /// The folders at the top of backups, which stay known when the list of backups changes; `nil` for one that is not there.
        var tops: [SnapshotID: [FileName: StoredFolder?]] = [:]
    }

    /// Of all remembered lists together; each name and each source takes some hundred bytes. A larger folder is remembered alone.
    private static let weightLimit = 200_000
    /// How long a list with failures is remembered: as long as one program looks at a folder.
    private static let failureNanoseconds: UInt64 = 10_000_000_000

    private let context: TreeContext
    private let state = Mutex(State())

    init(context: TreeContext) { self.context = context }

    /// - Parameter path: below the folder of a backup; not empty.
    /// - Throws: errors other than damage, which is in the list.
    func list(at path: [FileName]) throws(BackupError) -> VersionSourceList {
        try list(at: path, of: context.ownSnapshots(.snapshot))
    }

    private func list(at path: [FileName], of snapshots: [Snapshot]) throws(BackupError) -> VersionSourceList {
        if let known = remembered(path, snapshots) { return known }
        // Without the lock: two readers may both search, which only costs time.
        var list: VersionSourceList
        if path.count == 1 {
            list = try top(path[0], of: snapshots)
        } else {
            let parents = try self.list(at: path.dropLast(), of: snapshots)
            list = try Self.subfolders(path[path.count - 1], of: parents)
        }
        // Most names are files, and were never a folder.
        if !list.sources.isEmpty { list.index = try VersionIndex(list.sources) }
        remember(list, at: path, snapshots)
        return list
    }

    private func remembered(_ path: [FileName], _ snapshots: [Snapshot]) -> VersionSourceList? {
        state.withLock { state in
            guard state.snapshots.sharesStorage(with: snapshots), let known = state.lists[path],
                SystemClock.monotonicNanoseconds() < known.endNanoseconds
            else { return nil }
            return known.list
        }
    }

    private func remember(_ list: VersionSourceList, at path: [FileName], _ snapshots: [Snapshot]) {
        state.withLock { state in
            if !state.snapshots.sharesStorage(with: snapshots) {
                state.snapshots = snapshots
                state.lists = [:]
                state.weight = 0
                let ids = Set(snapshots.map(\.id))
                state.tops = state.tops.filter { ids.contains($0.key) }
            }
            let weight = list.sources.count + list.index.names.count
            // An empty one is found again as quickly.
            guard weight > 0 else { return }
            if state.weight + weight > Self.weightLimit {
                state.lists = [:]
                state.weight = 0
            }
            // What cannot be read now may be readable later: a disk that is back, a repository that was repaired.
            let end = list.failures.isEmpty ? UInt64.max : SystemClock.monotonicNanoseconds() + Self.failureNanoseconds
            guard state.lists.updateValue((list, end), forKey: path) == nil else { return }
            state.weight += weight
        }
    }

    /// The folders of that name at the top of the backups.
    private func top(_ name: FileName, of snapshots: [Snapshot]) throws(BackupError) -> VersionSourceList {
        var collector = Collector()
        for snapshot in snapshots {
            if let known = state.withLock({ $0.tops[snapshot.id]?[name] }) {
                if let known { try collector.add(known, of: snapshot) }
                continue
            }
            try collector.noteDamage(of: snapshot) { (collector) throws(BackupError) in
                let found = try root(of: snapshot).folder(named: name)
                state.withLock { $0.tops[snapshot.id, default: [:]][name] = .some(found) }
                if let found { try collector.add(found, of: snapshot) }
            }
        }
        return collector.list
    }

    /// As in `snapshots/`.
    private func root(of snapshot: Snapshot) -> StoredFolder {
        let folder = InodeNumber.root.child("snapshots")
        return StoredFolder(rootOf: snapshot, inode: context.pending.inode(of: snapshot.id, in: folder), context: context)
    }

    private static func subfolders(_ name: FileName, of parents: VersionSourceList) throws(BackupError) -> VersionSourceList {
        var collector = Collector(failures: parents.failures)
        for place in parents.index.names[name]?.folders ?? [] {
            let parent = parents.sources[Int(place.source)]
            guard let found = try parent.folder.folder(named: name) else { continue }
            try collector.add(found, of: parent.snapshot)
        }
        return collector.list
    }

    /// Leaves out folders with a content that was there already.
    private struct Collector {
        var list = VersionSourceList()
        private var contents: Set<FileContent> = []

        init(failures: [(backup: FileName, error: BackupError)] = []) { list.failures = failures }

        mutating func add(_ folder: StoredFolder, of snapshot: Snapshot) throws(BackupError) {
            guard let content = folder.storedContent, contents.insert(content).inserted else { return }
            try noteDamage(of: snapshot) { (collector) throws(BackupError) in
                // Whether it can be read; it stays in the repository's cache for what follows.
                _ = try folder.entries()
                collector.list.sources.append(VersionSource(snapshot: snapshot, folder: folder))
            }
        }

        mutating func noteDamage(
            of snapshot: Snapshot, _ body: (inout Collector) throws(BackupError) -> Void
        ) throws(BackupError) {
            do throws(BackupError) {
                try body(&self)
            } catch {
                guard error.code == .repositoryDamaged else { throw error }
                list.failures.append((snapshot.name, error))
            }
        }
    }
}
