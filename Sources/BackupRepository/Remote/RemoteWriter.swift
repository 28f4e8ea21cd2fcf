import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Changes a repository in an object storage, and its cache after it.
///
/// What is immutable is only ever created: of two programs that store the same pack, both succeed. What changes is replaced by
/// its version, so that a change by another machine is never lost.
final class RemoteWriter: RepositoryUpstream {
    /// Damaged objects are read as a whole as well, so that a repair can replace them.
    private static let objectLimitBytes = 1 << 30
    /// How often a look asks the storage at most.
    private static let refreshIntervalNanoseconds: UInt64 = 2_000_000_000

    let storage: any ObjectStorage
    private let layout: RepositoryLayout
    private let reader: RemoteReader
    private let isRefreshing = Mutex(false)

    /// - Parameter layout: of the cached repository's folder.
    init(_ storage: any ObjectStorage, _ layout: RepositoryLayout, _ reader: RemoteReader) {
        self.storage = storage
        self.layout = layout
        self.reader = reader
    }

    private var cache: PackCache { reader.cache }
    private var refresher: RemoteRefresher { reader.refresher }

    // MARK: Reading

    var location: String { reader.location }
    func open(_ id: PackID) throws(BackupError) -> SharedFile { try reader.open(id) }
    func discard(_ id: PackID) throws(BackupError) { try reader.discard(id) }
    func renew(_ id: PackID) throws(BackupError) { try reader.renew(id) }
    func storedIndex(of id: PackID) -> StoredPackIndex? { reader.storedIndex(of: id) }
    func prepareCheck() throws(BackupError) {
        try refresh(.verification)
        try cache.discardAdopted()
    }
    func findPacks() throws(BackupError) -> Bool { try reader.findPacks() }
    func has(_ id: PackID) throws(BackupError) -> Bool { try storage.look(MirrorObject.pack(id).name) != nil }

    // MARK: Small objects

    func store(_ bytes: [UInt8], as path: String) throws(BackupError) {
        let (name, object) = try object(at: path)
        let draft = ObjectDraft(bytes)
        if case .snapshot = object { return try create(object, name, draft, bytes) }
        if try replaceKnown(object, name, draft, at: path) { return }
        guard let (found, version) = try storage.contents(of: name, limitBytes: Self.objectLimitBytes) else {
            return try create(object, name, draft, bytes)
        }
        // The time at which it is stored is that of the removal.
        if found == bytes, !object.isRemoved { return }
        let mayReplace = try found == bytes ? true : isKnown(found, object, at: path)
        guard mayReplace else { throw Self.changed(name, at: location) }
        note(object, name, draft, try storage.replace(name, version: version, draft))
    }

    /// Replaces what the cache has, without reading it in the storage.
    /// - Returns: whether it was replaced; false where the storage may have something else.
    private func replaceKnown(
        _ object: MirrorObject, _ name: ObjectName, _ draft: ObjectDraft, at path: String
    ) throws(BackupError) -> Bool {
        guard !object.isDated, let cached = try FileSystem.readFileIfPresent(path, limitBytes: Self.objectLimitBytes),
            let version = refresher.versions.version(of: name, sha256: SHA256Hasher.hash(cached))
        else { return false }
        do throws(BackupError) {
            note(object, name, draft, try storage.replace(name, version: version, draft))
            return true
        } catch {
            guard [.conflict, .notFound].contains(error.code) else { throw error }
            return false
        }
    }

    /// What this process stores need not be transferred again. The time of a dated object is not known here.
    private func note(_ object: MirrorObject, _ name: ObjectName, _ draft: ObjectDraft, _ version: ObjectVersion) {
        if !object.isDated { refresher.versions.note(name, draft.sha256, version) }
    }

    /// Whether the change that is made is one of what the storage has now.
    private func isKnown(_ found: [UInt8], _ object: MirrorObject, at path: String) throws(BackupError) -> Bool {
        switch object {
        // Copies of what is damaged: the newest one counts.
        case .damaged: true
        // No program reads it, or only whether it is there.
        case .readme, .primary: true
        default:
            try FileSystem.readFileIfPresent(path, limitBytes: Self.objectLimitBytes) == found
        }
    }

    private func create(
        _ object: MirrorObject, _ name: ObjectName, _ draft: ObjectDraft, _ bytes: [UInt8]
    ) throws(BackupError) {
        do throws(BackupError) {
            note(object, name, draft, try storage.create(name, draft))
        } catch {
            guard error.code == .alreadyExists else { throw error }
            guard let (found, known) = try storage.contents(of: name, limitBytes: Self.objectLimitBytes) else {
                throw Self.changed(name, at: location)
            }
            if found == bytes { return }
            // A record's name stands for its bytes: what is there is damaged, and this is its repair.
            guard case .snapshot(let id) = object, SnapshotID(SHA256Hasher.hash(found)) != id else {
                throw Self.changed(name, at: location)
            }
            note(object, name, draft, try storage.replace(name, version: known, draft))
        }
    }

    private static func changed(_ name: ObjectName, at location: String) -> BackupError {
        BackupError(
            .conflict, "another machine has just changed “\(name)”", path: location, remedy: "Try again.")
    }

    func remove(_ path: String) throws(BackupError) { try storage.removeIfPresent(object(at: path).name) }

    func moveRecord(_ path: String, to new: String) throws(BackupError) {
        let (name, _) = try object(at: path)
        guard let (bytes, version) = try storage.contents(of: name, limitBytes: Self.objectLimitBytes) else { return }
        guard try FileSystem.readFileIfPresent(path, limitBytes: Self.objectLimitBytes) == bytes else {
            // What was read here is damaged, and not what the storage has: it is transferred again.
            try FileSystem.removeFile(path)
            throw BackupError(
                .conflict, "the cache of “\(name)” was damaged, and the storage has other bytes", path: location,
                remedy: "Run the command again: it is read once more.")
        }
        try store(bytes, as: new)
        try PrivateFile.makeFolder(FileSystem.parentPath(new))
        try PrivateFile.publish(bytes, to: new, temporaryFolder: layout.temporary, isDurable: false)
        try storage.remove(name, version: version)
        try FileSystem.removeFile(path)
    }

    private func object(at path: String) throws(BackupError) -> (name: ObjectName, object: MirrorObject) {
        guard path.hasPrefix(layout.path + "/"), let name = ObjectName(String(path.dropFirst(layout.path.utf8.count + 1))),
            let object = MirrorObject(name)
        else { throw BackupError(.invalidArgument, "this is no file of a repository", path: path) }
        return (name, object)
    }

    // MARK: Packs

    func add(_ id: PackID, from file: String) throws(BackupError) -> Bool {
        let name = MirrorObject.pack(id).name
        let draft = try ObjectDraft(SharedFile(path: file))
        var isNew = true
        do throws(BackupError) {
            _ = try storage.create(name, draft)
        } catch {
            guard error.code == .alreadyExists, let known = try storage.look(name) else { throw error }
            isNew = false
            // Another machine has stored the same one, or this is the repair of what is there: the name stands for the bytes.
            let isSame = try known.sizeBytes == draft.sizeBytes ? sha256(of: name) == draft.sha256 : false
            if !isSame {
                _ = try storage.replace(name, version: known.version, draft)
            }
        }
        try FaultInjection.reached("remote.pack-stored")
        try cache.adopt(id, from: file)
        return isNew
    }

    private func sha256(of name: ObjectName) throws(BackupError) -> SHA256Digest {
        var hasher = SHA256Hasher()
        _ = try storage.read(name, range: nil) { (part) throws(BackupError) in hasher.update(part) }
        return hasher.finish()
    }

    func removePack(_ id: PackID) throws(BackupError) {
        try storage.removeIfPresent(MirrorObject.pack(id).name)
        try cache.remove(id)
    }

    func setAside(_ id: PackID) throws(BackupError) {
        let aside = "\(layout.damaged)/\(id.hexadecimal)\(RepositoryLayout.packExtension)"
        let name = MirrorObject.pack(id).name
        guard let (bytes, _) = try storage.contents(of: name, limitBytes: Self.objectLimitBytes) else { return }
        try store(bytes, as: aside)
        try PrivateFile.makeFolder(layout.damaged)
        try PrivateFile.publish(bytes, to: aside, temporaryFolder: layout.temporary, isDurable: false)
        try removePack(id)
    }

    // MARK: Batches of indexes

    func storeIndexes(isCompacting: Bool, requireHeld: () throws(BackupError) -> Void) throws(BackupError) {
        let batches = refresher.batches
        let contents = try batches.contents()
        let useless = refresher.uselessBatches.union(contents.replaced.intersection(contents.batches.keys))
        var update = IndexBatchUpdate(
            storage, present: contents.batches, useless: useless,
            IndexBatchUpdate.Sources(
                index: { [cache] (id) throws(BackupError) in try? StoredPackIndex(in: cache.open(id), pack: id) },
                record: { [layout] (id) throws(BackupError) in try layout.recordBytes(of: id) },
                batch: { (id) throws(BackupError) in batches.bytes(of: id) }))
        let records = try FileSystem.names(in: layout.snapshots).compactMap {
            RepositoryLayout.digest(in: $0, extension: RepositoryLayout.snapshotExtension).map { SnapshotID($0) }
        }
        try update.run(
            packs: PackFolder.list(layout), records: Set(records), isCompacting: isCompacting, requireHeld: requireHeld,
            willStore: batches.beginStoring, didEnd: batches.endStoring,
            didStore: { [cache] (id, bytes) throws(BackupError) in
                try batches.add(id, bytes, temporaryFolder: cache.temporaryFolder)
            }, didRemove: { (id) throws(BackupError) in try batches.remove(id) })
    }

    private static let fewPacks = 4

    var storesIndexesSoon: Bool {
        guard let batches = try? refresher.batches.contents().batches, batches.count + 1 < IndexBatchUpdate.smallCountLimit,
            let packs = try? PackFolder.list(layout)
        else { return false }
        let known = Set(batches.values.flatMap { $0.packs.map(\.id) })
        return packs.keys.count { !known.contains($0) } <= Self.fewPacks
    }

    // MARK: Refreshing

    func refresh(_ scope: RefreshScope) throws(BackupError) { try refresher.run(scope, through: storage, waiting: .untilDone) }

    func refreshInBackground() {
        let last = refresher.lastAttemptNanoseconds
        if let last, SystemClock.monotonicNanoseconds() < last + Self.refreshIntervalNanoseconds { return }
        let isFree = isRefreshing.withLock { isRefreshing in
            defer { isRefreshing = true }
            return !isRefreshing
        }
        guard isFree else { return }
        do throws(BackupError) {
            try SystemThread { [self] in
                try? refresher.run(.records, waiting: .not)
                isRefreshing.withLock { $0 = false }
            }.detach()
        } catch {
            isRefreshing.withLock { $0 = false }
        }
    }
}
