import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Brings the batches of indexes in a cache in line with the storage.
struct IndexBatchRefresh {
    let storage: any ObjectStorage
    let layout: RepositoryLayout
    let cache: PackCache
    let batches: IndexBatchFolder
    let progress: ProgressHandler?

    /// - Parameters:
    ///   - before: what the cache had before the listing: what this machine has stored since then is not in the list.
    ///   - objects: as listed.
    ///   - versions: damaged batches are noted in it, so that they are not transferred each time.
    ///   - addsPacks: whether the packs that new batches name are added to the cache, and those removed that only batches named
    ///     that are gone: where packs are not listed.
    func run(
        since before: IndexBatchFolder.Contents, _ objects: [MirrorObject: ObjectFacts], _ versions: borrowing Mutex<MirrorState>,
        addsPacks: Bool
    ) throws(BackupError) {
        var listed: [IndexBatchID: ObjectFacts] = [:]
        for (object, facts) in objects {
            if case .indexBatch(let id) = object { listed[id] = facts }
        }
        let replaced = before.replaced
        // This machine may have stored some while the list was made. It adds each one before it counts as stored.
        let own = listed.keys.filter { batches.isBeingStored($0) }
        let now = try batches.contents()
        let missing = listed.filter { id, facts in
            before.batches[id] == nil && now.batches[id] == nil && !own.contains(id)
                && !before.newer.contains(id) && !replaced.contains(id)
                && facts.sizeBytes <= UInt64(IndexBatch.sizeLimitBytes)
                && versions.withLock { $0.version(of: facts.name) } != facts.version
        }
        let hasStale = before.batches.keys.contains { listed[$0] == nil || replaced.contains($0) }
        guard !missing.isEmpty || hasStale else { return }
        // Names of packs that are in the cache: an empty file must not take the place of one that has been read.
        let cached = Mutex(addsPacks ? try PackFolder.names(layout) : [])
        let damaged = Mutex<[(name: ObjectName, sha256: SHA256Digest, version: ObjectVersion)]>([])
        try ParallelTransfer(phase: "Reading the packs' indexes...", progress: progress).run(
            missing.sorted { $0.key < $1.key }, sizeBytes: { $0.value.sizeBytes }
        ) { [self] (item) throws(BackupError) in
            let (id, facts) = item
            let found = try MirrorObject.indexBatch(id).contents(in: storage, limitBytes: IndexBatch.sizeLimitBytes)
            guard let (bytes, version) = found else { return }
            let digest = SHA256Hasher.hash(bytes)
            guard IndexBatchID(digest) == id else {
                damaged.withLock { $0.append((facts.name, digest, version)) }
                return
            }
            // The packs first: after an interruption, a batch in the cache would not be looked at again. A batch of a later
            // version is kept, too, so that it is not transferred each time.
            if addsPacks, let batch = try? IndexBatch(decodingHead: bytes, sizeBytes: bytes.count) {
                // Of several threads, each adds other packs.
                let packs = cached.withLock { cached in batch.packs.filter { cached.insert($0.id).inserted } }
                try cache.addEmpty(packs)
            }
            try batches.add(id, bytes, temporaryFolder: cache.temporaryFolder)
        }
        for one in damaged.withLock({ $0 }) { versions.withLock { $0.note(one.name, one.sha256, one.version) } }
        try removeStale(before, listed, addsPacks: addsPacks)
    }

    /// Removes batches that the storage has no longer, or whose contents are in others.
    private func removeStale(
        _ before: IndexBatchFolder.Contents, _ listed: [IndexBatchID: ObjectFacts], addsPacks: Bool
    ) throws(BackupError) {
        let now = try batches.contents()
        let replaced = now.replaced
        let stale = before.batches.filter { listed[$0.key] == nil || replaced.contains($0.key) }
        guard !stale.isEmpty else { return }
        if addsPacks {
            // The program that replaced them has listed the packs, and left out those that are gone.
            let named = Set(now.batches.filter { stale[$0.key] == nil }.values.flatMap { $0.packs.map(\.id) })
            for part in stale.values.flatMap(\.packs) where !named.contains(part.id) { try cache.remove(part.id) }
        }
        for id in stale.keys { try batches.remove(id) }
        _ = try batches.contents()
    }
}
