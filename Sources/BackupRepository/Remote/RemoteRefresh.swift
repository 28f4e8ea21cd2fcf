import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Brings a cached repository in line with its storage: lists objects, and transfers what is small and new. Of packs, only their
/// indexes are transferred, most of them in batches.
///
/// Nothing is synchronized: what a power cut takes is transferred again. A file appears as a whole under its name, and each
/// record after its packs, as far as these are in batches or were listed. Readers that miss a pack have the packs listed.
struct RemoteRefresh {
    let storage: any ObjectStorage
    /// The same storage through another connection.
    var other: (any ObjectStorage)?
    let layout: RepositoryLayout
    let cache: PackCache
    let versions: CachedVersions
    /// The files of which this process has seen that they have the noted bytes.
    let verified: VerifiedFiles
    let batches: IndexBatchFolder
    let progress: ProgressHandler?

    /// - Returns: the batches of indexes in the storage that are damaged, or whose contents are in others.
    /// - Throws: `noRepository` when the storage holds no repository; errors of the storage and of the disk. The cache is as
    ///   usable then as before.
    func run(_ scope: RefreshScope) throws(BackupError) -> Set<IndexBatchID> {
        for folder in layout.folders { try FileSystem.makeDirectories(folder, isDurable: false) }
        // Before the listing: another program of this machine may store something meanwhile, and add it here.
        let before = try CachedNames(layout)
        let batchesBefore = try batches.contents()
        var packs: Set<PackID> = []
        var scope = scope
        var objects: [MirrorObject: ObjectFacts] = [:]
        let versions = Mutex(self.versions.read())
        let register = versions.withLock { $0.version(of: MirrorObject.register.name) }
        let expected = try expectation(before, batchesBefore)
        let listing = MirrorListing(
            storage: storage, other: other, expected: expected, isFirst: expected == nil && before.records.isEmpty,
            isKnownRegister: { $0.version == register || $0.version.unread == register },
            isKnown: { (id) throws(BackupError) in try FileSystem.exists(layout.snapshotPath(of: id)) })
        if scope == .records {
            objects = try listing.records()
            // Older programs make no batches. Then the packs have to be there before the record.
            if !objects.keys.contains(where: \.isIndexBatch) {
                for object in objects.keys where try isNewRecord(object) { scope = .everything }
            }
        }
        if scope != .records {
            packs = try PackFolder.names(layout)
            objects = try listing.everything()
        }
        cache.transfers.noteOnline()
        guard objects[.configuration] != nil || objects[.configurationCopy] != nil else {
            throw BackupError(
                .noRepository, "there is no repository here", path: storage.location,
                remedy: "Check the address. A copy is made with: backupfs sync")
        }
        defer { self.versions.replace(by: versions.withLock { $0 }, temporaryFolder: cache.temporaryFolder) }
        let batchRefresh = IndexBatchRefresh(
            storage: storage, layout: layout, cache: cache, batches: batches, progress: progress)
        // What a record needs comes first: its packs, and its label.
        let (listed, chosen) = (objects, scope)
        try ParallelTransfer(phase: "Reading the list of backups...", progress: nil).run(
            [true, false], sizeBytes: { _ in 0 }
        ) { [self] (isOfPacks) throws(BackupError) in
            if isOfPacks {
                try batchRefresh.run(since: batchesBefore, listed, versions, addsPacks: chosen == .records)
                if chosen != .records { try addPacks(listed) }
            } else {
                try transfer(listed, versions, chosen) { object in
                    switch object {
                    case .pack, .indexBatch, .snapshot, .configuration, .register: false
                    default: true
                    }
                }
            }
        }
        // With the configuration, the cache can be opened.
        try transfer(objects, versions, scope) { object in
            switch object {
            case .snapshot, .configuration: true
            default: false
            }
        }
        // The register last: until it is there, the labels that it lists are.
        try transfer(objects, versions, scope) { $0 == .register }
        try removeMissing(objects, before, packs, scope)
        versions.withLock { $0.keep { name in MirrorObject(name).flatMap { objects[$0] } != nil } }
        let contents = try batches.contents()
        let replaced = contents.replaced
        return Set(
            objects.compactMap { object, facts in
                guard case .indexBatch(let id) = object else { return nil }
                let isDamaged = contents.batches[id] == nil && versions.withLock { $0.version(of: facts.name) } == facts.version
                return isDamaged || replaced.contains(id) ? id : nil
            })
    }

    /// - Returns: `nil` for a cache that was never in line with its storage.
    private func expectation(
        _ cached: CachedNames, _ batches: IndexBatchFolder.Contents
    ) throws(BackupError) -> MirrorListing.Expectation? {
        guard try FileSystem.exists(layout.config) else { return nil }
        let count = cached.records.count { $0.path(in: layout).utf8.lexicographicallyPrecedes(layout.packs.utf8) }
        return MirrorListing.Expectation(
            packCount: batches.packCount,
            countBeforePacks: count + batches.batches.count + batches.newer.count + Self.filesBeforePacks(layout))
    }

    /// How many of the files that make a repository have names before those of packs.
    private static func filesBeforePacks(_ layout: RepositoryLayout) -> Int {
        [layout.config, layout.configCopy, layout.key, layout.keyCopy, layout.readme].count {
            FileSystem.statusIfPresent($0) != nil
        }
    }

    private func isNewRecord(_ object: MirrorObject) throws(BackupError) -> Bool {
        guard case .snapshot(let id) = object else { return false }
        return try !FileSystem.exists(layout.snapshotPath(of: id))
    }

    private func addPacks(_ objects: [MirrorObject: ObjectFacts]) throws(BackupError) {
        let known = try PackFolder.list(layout)
        let indexed = try batches.contents()
        let missing = objects.compactMap { object, facts -> (id: PackID, sizeBytes: UInt64)? in
            guard case .pack(let id) = object, known[id] != facts.sizeBytes, facts.sizeBytes <= PackCache.packLimitBytes else {
                return nil
            }
            return (id, facts.sizeBytes)
        }.sorted { $0.id < $1.id }
        try ParallelTransfer(phase: "Reading the packs' indexes...", progress: progress).run(
            missing, sizeBytes: { _ in CachedPack.blockSizeBytes }
        ) { [cache] (pack) throws(BackupError) in
            if indexed.packSizeBytes(of: pack.id) == pack.sizeBytes {
                return try cache.addEmpty(pack.id, sizeBytes: pack.sizeBytes)
            }
            do throws(BackupError) {
                try cache.add(pack.id, sizeBytes: pack.sizeBytes)
            } catch {
                // Removed since it was listed.
                guard error.code == .notFound else { throw error }
            }
        }
    }

    /// Transfers the objects whose version is not that of the file in the cache.
    private func transfer(
        _ objects: [MirrorObject: ObjectFacts], _ versions: borrowing Mutex<MirrorState>, _ scope: RefreshScope,
        _ isMeant: (MirrorObject) -> Bool
    ) throws(BackupError) {
        var changed: [(object: MirrorObject, facts: ObjectFacts, isNew: Bool)] = []
        // One object that is too large for what it should be, and so is damaged, must not hide all others.
        for (object, facts) in objects where isMeant(object) && facts.sizeBytes <= UInt64(object.byteCountLimit) {
            let file = try FileSystem.look(object.path(in: layout))
            let version = versions.withLock { $0.version(of: facts.name) }
            let isCurrent = version == facts.version || scope != .verification && version == facts.version.unread
            if let file, file.size == facts.sizeBytes, isCurrent,
                !object.isDated || file.modificationTime.seconds == facts.storedAt.seconds,
                verified.has(object.path(in: layout), file, versions.withLock { $0.sha256(of: facts.name) })
            {
                continue
            }
            changed.append((object, facts, isNew: version == nil && scope != .verification))
        }
        let transferred = Mutex<[(name: ObjectName, sha256: SHA256Digest, version: ObjectVersion)]>([])
        defer {
            for one in transferred.withLock({ $0 }) { versions.withLock { $0.note(one.name, one.sha256, one.version) } }
        }
        try ParallelTransfer(phase: "Reading the list of backups...", progress: progress).run(
            changed.sorted { $0.facts.name < $1.facts.name }, sizeBytes: { $0.facts.sizeBytes }
        ) { [self] (item) throws(BackupError) in
            guard let (bytes, version) = try contents(of: item.object, item.facts, isNew: item.isNew) else { return }
            // The time of a removal and that of a source's document are those of their files.
            try cache.replaceFile(item.object.path(in: layout), bytes, modificationTime: item.facts.storedAt)
            transferred.withLock { $0.append((item.facts.name, SHA256Hasher.hash(bytes), version)) }
        }
    }

    /// - Parameter isNew: whether a copy of a record in a batch will do. One that has changed since it was seen may be damaged.
    private func contents(
        of object: MirrorObject, _ facts: ObjectFacts, isNew: Bool
    ) throws(BackupError) -> (bytes: [UInt8], version: ObjectVersion)? {
        if isNew, case .snapshot(let id) = object, let bytes = batches.record(of: id), UInt64(bytes.count) == facts.sizeBytes {
            return (bytes, facts.version.unread)
        }
        return try object.contents(in: storage, limitBytes: object.byteCountLimit)
    }

    /// Removes from the cache what the storage no longer has, each record before its packs.
    private func removeMissing(
        _ objects: [MirrorObject: ObjectFacts], _ before: CachedNames, _ packs: Set<PackID>, _ scope: RefreshScope
    ) throws(BackupError) {
        for object in before.records where objects[object] == nil { try FileSystem.removeFile(object.path(in: layout)) }
        guard scope != .records else { return }
        for object in [MirrorObject.key, .keyCopy, .configuration, .configurationCopy] where objects[object] == nil {
            try FileSystem.removeFile(object.path(in: layout))
        }
        for pack in packs where objects[.pack(pack)] == nil { try cache.remove(pack) }
    }
}

extension MirrorObject {
    /// How large an object may be that is read as a whole.
    var byteCountLimit: Int {
        switch self {
        case .configuration, .configurationCopy: RepositoryConfiguration.byteCountLimit
        case .key, .keyCopy: KeyFile.byteCountLimit
        case .register: SnapshotRegister.byteCountLimit
        case .label: SnapshotLabel.byteCountLimit
        case .snapshot: SnapshotRecord.byteCountLimit
        case .source: SourceDocument.byteCountLimit
        case .readme, .primary: 1 << 20
        case .removed: SnapshotRecord.byteCountLimit
        case .doomed: DoomedPacks.byteCountLimit
        case .indexBatch: IndexBatch.sizeLimitBytes
        case .damaged: 1 << 30
        case .pack: 0
        }
    }

    /// Whether it is the record of a removed snapshot.
    var isRemoved: Bool {
        if case .removed = self { return true }
        return false
    }

    var isIndexBatch: Bool {
        if case .indexBatch = self { return true }
        return false
    }

    /// Whether the time at which it was stored means something.
    var isDated: Bool {
        switch self {
        case .removed, .doomed, .source: true
        default: false
        }
    }
}

/// What a cache has, beside packs.
private struct CachedNames {
    /// Without the files that make it a repository.
    var records: [MirrorObject] = []

    init(_ layout: RepositoryLayout) throws(BackupError) {
        let root = RepositoryLayout(path: "")
        for folder in [root.snapshots, root.removed, root.labels, root.sources, root.doomed, root.damaged] {
            for name in try FileSystem.names(in: layout.path + folder) {
                guard let object = ObjectName("\(folder.dropFirst())/\(name)").flatMap({ MirrorObject($0) }) else { continue }
                records.append(object)
            }
        }
        if try FileSystem.exists(layout.register) { records.append(.register) }
    }
}
