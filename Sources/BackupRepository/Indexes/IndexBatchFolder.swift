import BackupCore
import Synchronization
import SystemIO

/// The batches of indexes that a cache has, each as a whole file. Thread-safe; several processes may share the folder.
final class IndexBatchFolder: Sendable {
    /// What the batches hold.
    struct Contents: Sendable {
        fileprivate struct Place<Part: Sendable>: Sendable {
            let batch: IndexBatchID
            let part: Part
        }

        fileprivate(set) var batches: [IndexBatchID: IndexBatch] = [:]
        /// Files of later versions, which this program cannot read.
        fileprivate(set) var newer: Set<IndexBatchID> = []
        fileprivate var packs: [PackID: Place<IndexBatch.PackPart>] = [:]
        fileprivate var records: [SnapshotID: Place<IndexBatch.RecordPart>] = [:]

        /// How many packs the batches name.
        var packCount: Int { packs.count }

        /// All batches whose contents are in later ones.
        var replaced: Set<IndexBatchID> { Set(batches.values.flatMap(\.replaced)) }

        /// Length of a pack, as a batch says; `nil` for a pack that is in none.
        func packSizeBytes(of pack: PackID) -> UInt64? { packs[pack]?.part.packSizeBytes }

        fileprivate mutating func add(_ id: IndexBatchID, _ batch: IndexBatch) {
            batches[id] = batch
            for part in batch.packs { packs[part.id] = Place(batch: id, part: part) }
            for part in batch.records { records[part.id] = Place(batch: id, part: part) }
        }
    }

    private struct State {
        var version: FolderVersion?
        var contents = Contents()
    }

    /// Of more packs, the headers are not read for a hint.
    private static let hintedPackCount = 4_096

    private let layout: RepositoryLayout
    private let state = Mutex(State())
    private let beingStored = Mutex<Set<IndexBatchID>>([])

    init(_ layout: RepositoryLayout) { self.layout = layout }

    /// - Throws: errors of the disk. A file that is no batch is left out.
    func contents() throws(BackupError) -> Contents {
        guard let status = try FileSystem.look(layout.indexes) else { return Contents() }
        let version = FolderVersion(status)
        let last = state.withLock { $0 }
        if let known = last.version, known.covers(version) { return last.contents }
        var contents = Contents()
        for name in try FileSystem.names(in: layout.indexes) {
            guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.indexBatchExtension) else {
                continue
            }
            let id = IndexBatchID(digest)
            do throws(BackupError) {
                // A name stands for the same bytes for ever.
                if let known = last.contents.batches[id] {
                    contents.add(id, known)
                } else {
                    contents.add(id, try readHead(of: id))
                }
            } catch {
                if error.code == .unsupportedVersion { contents.newer.insert(id) }
            }
        }
        let found = contents
        state.withLock { $0 = State(version: version, contents: found) }
        return contents
    }

    private func readHead(of id: IndexBatchID) throws(BackupError) -> IndexBatch {
        let file = try SharedFile(path: layout.indexBatchPath(of: id))
        let start = try file.readExactly(at: 0, count: IndexBatch.startByteCount)
        guard file.size <= UInt64(IndexBatch.sizeLimitBytes), try IndexBatch.headByteCount(start) <= Int(file.size) else {
            throw BackupError(.repositoryDamaged, "a batch of indexes is cut off", path: file.path)
        }
        let head = try file.readExactly(at: 0, count: IndexBatch.headByteCount(start))
        return try IndexBatch(decodingHead: head, sizeBytes: Int(file.size))
    }

    /// The index of a pack, proved by the pack's name; `nil` if no batch has it.
    func storedIndex(of pack: PackID) -> StoredPackIndex? {
        guard let place = find({ $0.packs[pack] }), let bytes = try? read(place.part.range, of: place.batch) else { return nil }
        return IndexBatch.storedIndex(bytes, of: place.part)
    }

    /// The packs of metadata that the batches name, with their lengths. Headers are not proved: they are a hint.
    /// - Returns: `nil` when they have more bytes together than the limit, or when there are very many packs.
    func metadataPacks(limitBytes: UInt64) -> [(id: PackID, sizeBytes: UInt64)]? {
        guard let contents = try? contents(), contents.packs.count <= Self.hintedPackCount else { return nil }
        var found: [(id: PackID, sizeBytes: UInt64)] = []
        var totalBytes: UInt64 = 0
        for (id, batch) in contents.batches {
            guard let file = try? SharedFile(path: layout.indexBatchPath(of: id)) else { continue }
            for part in batch.packs where contents.packs[part.id]?.batch == id {
                let header = try? file.readExactly(
                    at: UInt64(part.range.lowerBound), count: min(part.range.count, StoredPackIndex.headerByteCount))
                guard let header, StoredPackIndex.isMetadata(header) else { continue }
                totalBytes = totalBytes.addingSaturating(part.packSizeBytes)
                guard totalBytes <= limitBytes else { return nil }
                found.append((part.id, part.packSizeBytes))
            }
        }
        return found
    }

    /// The bytes of a record, proved by its name; `nil` if no batch has it.
    func record(of id: SnapshotID) -> [UInt8]? {
        guard let place = find({ $0.records[id] }), let bytes = try? read(place.part.range, of: place.batch),
            SnapshotID(SHA256Hasher.hash(bytes)) == id
        else { return nil }
        return bytes
    }

    /// Looks in what was last read, and reads the folder only if it has changed since: there may be a lookup for each pack.
    private func find<Found>(_ look: (Contents) -> Found?) -> Found? {
        let last = state.withLock { $0 }
        if let found = look(last.contents) { return found }
        guard let status = try? FileSystem.look(layout.indexes), last.version != FolderVersion(status) else { return nil }
        return (try? contents()).flatMap(look)
    }

    private func read(_ range: Range<Int>, of id: IndexBatchID) throws(BackupError) -> [UInt8] {
        try SharedFile(path: layout.indexBatchPath(of: id)).readExactly(at: UInt64(range.lowerBound), count: range.count)
    }

    /// All bytes of a batch, proved by its name; `nil` if it is not there, or damaged.
    func bytes(of id: IndexBatchID) -> [UInt8]? {
        guard
            let bytes = try? FileSystem.readFileIfPresent(layout.indexBatchPath(of: id), limitBytes: IndexBatch.sizeLimitBytes),
            IndexBatchID(SHA256Hasher.hash(bytes)) == id
        else { return nil }
        return bytes
    }

    // MARK: Changes

    /// Notes that this process stores a batch in the storage, to add it here: a listing may have it before.
    func beginStoring(_ id: IndexBatchID) { beingStored.withLock { _ = $0.insert(id) } }

    /// Ends what `beginStoring` began. The batch is here now, unless it could not be stored.
    func endStoring(_ id: IndexBatchID) { beingStored.withLock { _ = $0.remove(id) } }

    /// Whether this process stores a batch at this moment.
    func isBeingStored(_ id: IndexBatchID) -> Bool { beingStored.withLock { $0.contains(id) } }

    /// Adds a batch, without waiting for the disk.
    /// - Parameter temporaryFolder: on the same file system.
    func add(_ id: IndexBatchID, _ bytes: [UInt8], temporaryFolder: String) throws(BackupError) {
        try FileSystem.makeDirectories(layout.indexes, isDurable: false)
        try PrivateFile.publish(bytes, to: layout.indexBatchPath(of: id), temporaryFolder: temporaryFolder, isDurable: false)
    }

    /// Removes a batch; a no-op when there is none.
    func remove(_ id: IndexBatchID) throws(BackupError) { try FileSystem.removeFile(layout.indexBatchPath(of: id)) }
}
