import BackupCore
import ObjectStorage
import SystemIO

/// Keeps the batches of indexes in a copy of a repository in line with its packs.
struct MirrorIndexes {
    private static let headExtension = ".head"

    let storage: any ObjectStorage
    /// Of the repository here.
    let layout: RepositoryLayout
    /// Keeps what earlier updates have read of the batches: which packs they name. Without it, each update reads them again.
    let headFolder: String?

    /// Stores what is missing.
    /// - Parameters:
    ///   - present: the objects in the storage, listed before the packs.
    ///   - packs: all packs in the storage, with their lengths in bytes.
    /// - Throws: errors of the storage, and of the disk here.
    func update(
        _ present: [MirrorObject: ObjectFacts], packs: [PackID: UInt64],
        didStore: (IndexBatchID, _ bytes: [UInt8]) -> Void
    ) throws(BackupError) {
        var heads: [IndexBatchID: IndexBatch] = [:]
        var damaged: Set<IndexBatchID> = []
        var records: Set<SnapshotID> = []
        for (object, facts) in present {
            switch object {
            case .snapshot(let id): records.insert(id)
            case .indexBatch(let id):
                do throws(BackupError) {
                    heads[id] = try head(of: id, facts)
                } catch {
                    switch error.code {
                    case .unsupportedVersion, .notFound: continue
                    case .repositoryDamaged: damaged.insert(id)
                    default: throw error
                    }
                }
            default: continue
            }
        }
        try forgetHeads { heads[$0] == nil }
        let replaced = Set(heads.values.flatMap(\.replaced)).intersection(heads.keys)
        let sources = IndexBatchUpdate.Sources(
            index: { [layout] (id) throws(BackupError) in try? StoredPackIndex(in: layout.openPack(id), pack: id) },
            record: { [layout] (id) throws(BackupError) in try layout.recordBytes(of: id) },
            batch: { (id) throws(BackupError) in try bytes(of: id) })
        var update = IndexBatchUpdate(
            storage, present: heads.filter { !replaced.contains($0.key) }, useless: replaced.union(damaged), sources)
        try update.run(
            packs: packs, records: records, isCompacting: false, requireHeld: { () throws(BackupError) in },
            didStore: { (id, bytes) throws(BackupError) in
                didStore(id, bytes)
                try keepHead(of: id, bytes)
            }, didRemove: { (id) throws(BackupError) in try forgetHeads { $0 == id } })
    }

    /// - Throws: `repositoryDamaged` when it is not what its name says; `unsupportedVersion`; `notFound`; errors of the storage.
    private func head(of id: IndexBatchID, _ facts: ObjectFacts) throws(BackupError) -> IndexBatch {
        guard facts.sizeBytes <= UInt64(IndexBatch.sizeLimitBytes) else {
            throw BackupError(.repositoryDamaged, "a batch of indexes is too large", path: "\(storage.location)/\(facts.name)")
        }
        if let path = headPath(of: id),
            let known = try FileSystem.readFileIfPresent(path, limitBytes: IndexBatch.sizeLimitBytes),
            let head = try? IndexBatch(decodingHead: known, sizeBytes: Int(facts.sizeBytes))
        {
            return head
        }
        guard let bytes = try bytes(of: id) else {
            throw BackupError(
                .repositoryDamaged, "a batch of indexes does not fit its name", path: "\(storage.location)/\(facts.name)")
        }
        let head = try IndexBatch(decodingHead: bytes, sizeBytes: bytes.count)
        try keepHead(of: id, bytes)
        return head
    }

    /// - Returns: `nil` for one that is gone, or damaged.
    private func bytes(of id: IndexBatchID) throws(BackupError) -> [UInt8]? {
        guard
            let (bytes, _) = try MirrorObject.indexBatch(id).contents(in: storage, limitBytes: IndexBatch.sizeLimitBytes),
            IndexBatchID(SHA256Hasher.hash(bytes)) == id
        else { return nil }
        return bytes
    }

    private func headPath(of id: IndexBatchID) -> String? {
        headFolder.map { "\($0)/\(id.hexadecimal)\(Self.headExtension)" }
    }

    private func keepHead(of id: IndexBatchID, _ bytes: [UInt8]) throws(BackupError) {
        guard let headFolder, let path = headPath(of: id) else { return }
        try FileSystem.makeDirectories(headFolder)
        let count = try IndexBatch.headByteCount(bytes)
        try PrivateFile.publish(Array(bytes[..<count]), to: path, temporaryFolder: headFolder, isDurable: false)
    }

    private func forgetHeads(_ isGone: (IndexBatchID) -> Bool) throws(BackupError) {
        guard let headFolder, try FileSystem.exists(headFolder) else { return }
        for name in try FileSystem.names(in: headFolder) {
            guard let digest = RepositoryLayout.digest(in: name, extension: Self.headExtension), isGone(IndexBatchID(digest))
            else { continue }
            try FileSystem.removeFile("\(headFolder)/\(name)")
        }
    }
}
