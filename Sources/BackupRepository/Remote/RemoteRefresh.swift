import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Brings a cached repository in line with its storage: lists all objects, and transfers what is small and new. Of packs, only
/// their indexes are transferred.
///
/// Nothing is synchronized: what a power cut takes is transferred again. A file appears as a whole under its name, and each
/// record after its packs, so that readers of the cache see a whole repository at any moment.
struct RemoteRefresh {
    private static let versionLimitBytes = 64 << 20

    let storage: any ObjectStorage
    let layout: RepositoryLayout
    let cache: PackCache
    /// The file with the versions of the small objects in the cache.
    let versionsPath: String
    let progress: ProgressHandler?

    /// - Throws: `noRepository` when the storage holds no repository; errors of the storage and of the disk. The cache is as
    ///   usable then as before.
    func run() throws(BackupError) {
        let objects = try storage.mirrorObjects { (id) throws(BackupError) in
            try FileSystem.exists(layout.snapshotPath(of: id))
        }
        cache.transfers.noteOnline()
        guard objects[.configuration] != nil || objects[.configurationCopy] != nil else {
            throw BackupError(
                .noRepository, "there is no copy of a repository here", path: storage.location,
                remedy: "Check the address. A copy is made with: backupfs sync")
        }
        for folder in layout.folders { try FileSystem.makeDirectories(folder) }
        let stored = try FileSystem.readFileIfPresent(versionsPath, limitBytes: Self.versionLimitBytes)
        let versions = Mutex(MirrorState(decoding: stored ?? []))
        defer { try? Self.write(versions.withLock { $0.encoded }, to: versionsPath, layout) }
        try addPacks(objects)
        // The register last: until it is there, the labels that it lists are.
        try transfer(objects, versions) { object in
            switch object {
            case .pack, .register: false
            default: true
            }
        }
        try transfer(objects, versions) { $0 == .register }
        try removeMissing(objects)
    }

    private func addPacks(_ objects: [MirrorObject: ObjectFacts]) throws(BackupError) {
        let known = try PackFolder.list(layout)
        let missing = objects.compactMap { object, facts -> (id: PackID, sizeBytes: UInt64)? in
            guard case .pack(let id) = object, known[id] != facts.sizeBytes, facts.sizeBytes <= PackCache.packLimitBytes else {
                return nil
            }
            return (id, facts.sizeBytes)
        }.sorted { $0.id < $1.id }
        try ParallelTransfer(phase: "Reading the packs' indexes...", progress: progress).run(
            missing, sizeBytes: { _ in CachedPack.blockSizeBytes }
        ) { [cache] (pack) throws(BackupError) in
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
        _ objects: [MirrorObject: ObjectFacts], _ versions: borrowing Mutex<MirrorState>, _ isMeant: (MirrorObject) -> Bool
    ) throws(BackupError) {
        var changed: [(object: MirrorObject, facts: ObjectFacts)] = []
        // One object that is too large for what it should be, and so is damaged, must not hide all others.
        for (object, facts) in objects where isMeant(object) && facts.sizeBytes <= UInt64(object.byteCountLimit) {
            let file = try FileSystem.look(object.path(in: layout))
            guard file?.size != facts.sizeBytes || versions.withLock({ $0.version(of: facts.name) }) != facts.version else {
                continue
            }
            changed.append((object, facts))
        }
        let transferred = Mutex<[(name: ObjectName, sha256: SHA256Digest, version: ObjectVersion)]>([])
        defer {
            for one in transferred.withLock({ $0 }) { versions.withLock { $0.note(one.name, one.sha256, one.version) } }
        }
        try ParallelTransfer(phase: "Reading the list of backups...", progress: progress).run(
            changed.sorted { $0.facts.name < $1.facts.name }, sizeBytes: { $0.facts.sizeBytes }
        ) { [storage, layout] (item) throws(BackupError) in
            guard let (bytes, version) = try storage.contents(of: item.facts.name, limitBytes: item.object.byteCountLimit) else {
                return
            }
            try Self.write(bytes, to: item.object.path(in: layout), layout)
            transferred.withLock { $0.append((item.facts.name, SHA256Hasher.hash(bytes), version)) }
        }
    }

    /// Removes from the cache what the storage no longer has, each record before its packs.
    private func removeMissing(_ objects: [MirrorObject: ObjectFacts]) throws(BackupError) {
        for (folder, suffix) in [
            (layout.snapshots, RepositoryLayout.snapshotExtension), (layout.labels, RepositoryLayout.labelExtension),
        ] {
            for name in try FileSystem.names(in: folder) {
                guard let digest = RepositoryLayout.digest(in: name, extension: suffix) else { continue }
                let id = SnapshotID(digest)
                let object: MirrorObject = folder == layout.snapshots ? .snapshot(id) : .label(id)
                if objects[object] == nil { try FileSystem.removeFile(object.path(in: layout)) }
            }
        }
        if try FileSystem.exists(layout.sources) {
            for name in try FileSystem.names(in: layout.sources) {
                guard let id = RepositoryLayout.source(in: name), objects[.source(id)] == nil else { continue }
                try FileSystem.removeFile(layout.sourcePath(of: id))
            }
        }
        for object in [MirrorObject.register, .key, .keyCopy, .configuration, .configurationCopy] where objects[object] == nil {
            try FileSystem.removeFile(object.path(in: layout))
        }
        for pack in try PackFolder.names(layout) where objects[.pack(pack)] == nil { try cache.remove(pack) }
    }

    /// Replaces a file without waiting for the disk.
    private static func write(_ bytes: [UInt8], to path: String, _ layout: RepositoryLayout) throws(BackupError) {
        try FileSystem.makeDirectories(FileSystem.parentPath(path))
        try PrivateFile.publish(bytes, to: path, temporaryFolder: layout.temporary, isDurable: false)
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
        case .readme: 1 << 20
        case .pack: 0
        }
    }
}
