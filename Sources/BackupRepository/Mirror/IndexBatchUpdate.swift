import BackupCore
import ObjectStorage
import SystemIO

/// Stores batches of indexes for the packs that are in none yet, and replaces many small batches by a few large ones, so that
/// their number stays small and each copy is stored only a few times.
///
/// Another program may do the same at the same moment: both store valid batches. A batch says which ones it replaces, before
/// these are removed, so that an interruption or missing permissions to remove objects cost only space.
struct IndexBatchUpdate {
    /// A new batch begins when one has reached this size.
    static let fullSizeBytes = 8 << 20
    /// Smaller batches are small ones.
    private static let smallSizeBytes = 4 << 20
    /// At this number of small batches, one new batch replaces them.
    static let smallCountLimit = 16
    /// This many new records are stored even if no pack is new. Most backups store packs as well.
    private static let recordCountLimit = 32

    /// Where an update reads what it stores.
    struct Sources {
        /// The index of a pack; `nil` if it is unknown here.
        let index: (PackID) throws(BackupError) -> StoredPackIndex?
        /// The bytes of a record; `nil` if they are unknown here.
        let record: (SnapshotID) throws(BackupError) -> [UInt8]?
        /// All bytes of a batch; `nil` if it is gone or damaged.
        let batch: (IndexBatchID) throws(BackupError) -> [UInt8]?
    }

    let storage: any ObjectStorage
    /// The batches that are in the storage, and not replaced.
    let present: [IndexBatchID: IndexBatch]
    /// Those that are in the storage, and replaced or damaged.
    let useless: Set<IndexBatchID>
    let sources: Sources

    private var draft = IndexBatchDraft()
    private var added: Set<PackID> = []
    private var addedRecords: Set<SnapshotID> = []

    init(
        _ storage: any ObjectStorage, present: [IndexBatchID: IndexBatch], useless: Set<IndexBatchID>, _ sources: Sources
    ) {
        self.storage = storage
        self.present = present
        self.useless = useless
        self.sources = sources
    }

    /// - Parameters:
    ///   - packs: all packs in the storage, with their lengths in bytes.
    ///   - records: all records in the storage.
    ///   - isCompacting: whether batches are replaced of which a quarter or more names packs that are gone.
    ///   - willStore: called with each batch before it is stored.
    ///   - didEnd: called with the same ones at last, stored or not.
    ///   - didStore: called with each batch that was stored.
    ///   - didRemove: called with each batch that was removed, or that counts as removed.
    /// - Throws: errors of the storage. What was stored until then is valid.
    mutating func run(
        packs: [PackID: UInt64], records: Set<SnapshotID>, isCompacting: Bool,
        requireHeld: () throws(BackupError) -> Void,
        willStore: (IndexBatchID) -> Void = { _ in }, didEnd: (IndexBatchID) -> Void = { _ in },
        didStore: (IndexBatchID, [UInt8]) throws(BackupError) -> Void,
        didRemove: (IndexBatchID) throws(BackupError) -> Void
    ) throws(BackupError) {
        let known = Set(present.values.flatMap { $0.packs.filter { packs[$0.id] == $0.packSizeBytes }.map(\.id) })
        let knownRecords = Set(present.values.flatMap { $0.records.map(\.id) })
        let newPacks = packs.keys.filter { !known.contains($0) }.sorted()
        let newRecords = records.subtracting(knownRecords).sorted()
        let sparse = isCompacting ? present.filter { Self.isSparse($0.value, packs) } : [:]
        guard !newPacks.isEmpty || newRecords.count >= Self.recordCountLimit || !sparse.isEmpty else { return }
        let small = present.filter { $0.value.sizeBytes < Self.smallSizeBytes }
        let merged = small.count + 1 >= Self.smallCountLimit ? small.merging(sparse) { old, _ in old } : sparse
        var replaced: Set<IndexBatchID> = []
        func store(_ bytes: [UInt8]) throws(BackupError) {
            try requireHeld()
            let id = IndexBatchID(SHA256Hasher.hash(bytes))
            willStore(id)
            defer { didEnd(id) }
            do throws(BackupError) {
                _ = try storage.create(MirrorObject.indexBatch(id).name, ObjectDraft(bytes))
            } catch {
                // Another program has stored the same one.
                guard error.code == .alreadyExists else { throw error }
            }
            try FaultInjection.reached("indexes.stored")
            try didStore(id, bytes)
        }
        func storeIfFull() throws(BackupError) {
            guard draft.sizeBytes >= Self.fullSizeBytes else { return }
            try store(draft.encoded(replacing: []))
            draft = IndexBatchDraft()
        }
        for id in merged.keys.sorted() {
            try Cancellation.check()
            guard let batch = merged[id], let bytes = try sources.batch(id) else { continue }
            copy(batch, bytes, packs, records)
            replaced.insert(id)
            try storeIfFull()
        }
        for id in newPacks {
            try Cancellation.check()
            guard !added.contains(id), let index = try sources.index(id), index.packSizeBytes == packs[id] else { continue }
            add(id, index)
            try storeIfFull()
        }
        for id in newRecords {
            guard !addedRecords.contains(id), let bytes = try sources.record(id) else { continue }
            addedRecords.insert(id)
            draft.add(id, bytes)
            try storeIfFull()
        }
        // Only the last batch replaces others: until it is stored, not everything is copied.
        if !draft.isEmpty { try store(draft.encoded(replacing: replaced.union(useless).sorted())) }
        // Without a last one, the others name nothing that is still there, or are copied completely.
        try remove(replaced.union(useless), didRemove)
    }

    /// Whether it names many packs that are gone.
    private static func isSparse(_ batch: IndexBatch, _ packs: [PackID: UInt64]) -> Bool {
        let goneCount = batch.packs.count { packs[$0.id] == nil }
        return goneCount > 0 && goneCount * 4 >= batch.packs.count
    }

    private mutating func copy(
        _ batch: IndexBatch, _ bytes: [UInt8], _ packs: [PackID: UInt64], _ records: Set<SnapshotID>
    ) {
        for part in batch.packs where packs[part.id] == part.packSizeBytes && !added.contains(part.id) {
            if let index = IndexBatch.storedIndex(Array(bytes[part.range]), of: part) { add(part.id, index) }
        }
        for part in batch.records where records.contains(part.id) && addedRecords.insert(part.id).inserted {
            draft.add(part.id, Array(bytes[part.range]))
        }
    }

    private mutating func add(_ id: PackID, _ index: StoredPackIndex) {
        // Readers refuse larger batches. Such a pack is read by itself.
        guard index.indexBytes.count <= IndexBatch.sizeLimitBytes / 4 else { return }
        added.insert(id)
        draft.add(id, index)
    }

    /// Removes batches whose contents are in others. They do no harm where they cannot be removed.
    private func remove(
        _ ids: Set<IndexBatchID>, _ didRemove: (IndexBatchID) throws(BackupError) -> Void
    ) throws(BackupError) {
        for id in ids.sorted() {
            do throws(BackupError) {
                try storage.removeIfPresent(MirrorObject.indexBatch(id).name)
                try FaultInjection.reached("indexes.removed")
            } catch {
                guard [.accessDenied, .notSupported, .conflict].contains(error.code) else { throw error }
            }
            try didRemove(id)
        }
    }
}
