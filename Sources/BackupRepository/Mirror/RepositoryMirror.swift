import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// A copy of a repository in an object storage, for the day on which this machine is lost: every file under its own name, so that
/// a plain copy of all objects is a repository of the same format (Docs/reference/repository-format.md).
///
/// At each moment, also after a crash, a lost connection or two updates at once: each record in the storage has all its packs
/// there. An update uploads what is missing in that order, and the next one goes on where it ended. It removes nothing but
/// batches of indexes that it has replaced: a backup that was removed here stays in the mirror. Where backups are removed from a
/// mirror all the same, `MirrorSelection` says what it lacks.
public final class RepositoryMirror: Sendable {
    /// What an update has done.
    public struct Summary: Sendable {
        /// Backups that are in the mirror now and were not before.
        public var addedSnapshotCount = 0
        /// Backups in the mirror.
        public var snapshotCount = 0
        /// Packs that were uploaded.
        public var uploadedPackCount = 0
        /// Bytes that were uploaded, of all objects.
        public var uploadedBytes: UInt64 = 0
        /// Files of this repository that are damaged, and were not uploaded.
        public var unreadable: [BackupError] = []
        /// Backups that need a pack that a prune of the mirror is going to remove: they are uploaded when it is gone.
        public var waitingSnapshotCount = 0
        /// How often folders of backups were walked through.
        var walkCount = 0
    }

    let repository: Repository
    let storage: any ObjectStorage
    private let stateFolder: String?
    let kept: KeptUploads?
    let summary = Mutex(Summary())

    /// - Parameter stateFolder: for this mirror alone; created when needed. It keeps what was read of the mirror's batches of
    ///   indexes, and can be removed at any time. Without it, they are read at each update.
    /// - Parameter kept: keeps what is uploaded, for readers of the mirror on this machine.
    public init(
        of repository: Repository, in storage: any ObjectStorage, stateFolder: String? = nil, keeping kept: KeptUploads? = nil
    ) {
        self.repository = repository
        self.storage = storage
        self.stateFolder = stateFolder
        self.kept = kept
    }

    var layout: RepositoryLayout { repository.layout }

    /// Brings the mirror up to date.
    /// - Parameter state: what the last update knew of the mirror, which saves requests; it is changed to what this one knows,
    ///   also before an error. It may be lost at any time.
    /// - Parameter selection: which backups belong into the mirror; `nil` for a mirror that only grows.
    /// - Parameter earlier: a look at the same storage that was made just before; an older one is not used.
    /// - Parameter admit: called before anything is uploaded; may throw when the mirror would become too large.
    /// - Returns: also what is damaged here: it is not uploaded, and no new record that needs it is.
    /// - Throws: `notEmpty` and `notPermitted` when the storage holds something else; `conflict` when another update runs;
    ///   `busy`; errors of the storage. What was uploaded stays, and the next update needs not upload it again.
    public func update(
        _ state: inout MirrorState, selecting selection: MirrorSelection? = nil, beginningWith earlier: MirrorLook? = nil,
        progress: ProgressHandler? = nil, admit: (Size) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) -> Summary {
        summary.withLock { $0 = Summary() }
        var earlier = earlier
        while true {
            let look: MirrorLook
            if let earlier, earlier.isFresh { look = earlier } else { look = try Self.look(at: storage) }
            earlier = nil
            if try attempt(look, &state, selection, progress, admit) { return summary.withLock { $0 } }
            try Cancellation.check()
        }
    }

    /// - Returns: false when what it has found in the mirror at its beginning need not be there any more: it is to be repeated,
    ///   and has less to do then.
    private func attempt(
        _ look: MirrorLook, _ state: inout MirrorState, _ selection: MirrorSelection?, _ progress: ProgressHandler?,
        _ admit: (Size) throws(BackupError) -> Void
    ) throws(BackupError) -> Bool {
        try layout.requireOpened()
        var present = look.present
        var packs = PackUpload(present)
        var managed = try ManagedMirror(of: repository, in: storage, present, selection)
        if let needs = try managed?.needs(present) { packs.limit(to: needs) }
        try admit(Size(storedBytes: look.storedBytes, missingBytes: missingBytes(packs, managed)))
        try claim(look, &state)
        var remoteLock: RepositoryLock?
        defer { withExtendedLifetime(remoteLock) {} }
        var mustAdd = managed?.lacksRecords(present) == true
        if managed != nil, !mustAdd { mustAdd = try !packs.missing(in: layout).isEmpty }
        if mustAdd {
            // From now on, no prune of another machine removes what this update finds there.
            remoteLock = try managed?.lock()
            present = try Self.inventory(of: storage).present
            packs.renew(present)
            if let needs = try managed?.needs(present) { packs.limit(to: needs) }
        }
        try uploadMostPacks(&packs, progress)
        // A prune would remove packs between their listing and the upload of the records that need them.
        let lock = try RepositoryLock(layout, .keepingPacks, operation: "sync")
        defer { withExtendedLifetime(lock) {} }
        // The list of records before that of packs: what it names is complete then, whatever a backup adds meanwhile.
        try repository.snapshotStore.scan()
        let list = repository.snapshotStore.list
        summary.withLock { $0.unreadable += list.damages.filter { $0.path?.hasPrefix(layout.snapshots + "/") == true } }
        let chosen = list.recorded.filter { managed?.includes($0.id) != false }
        // Packs that a prune has rewritten here since they were looked at have other names.
        if remoteLock != nil, let needs = try managed?.needs(present) { packs.limit(to: needs) }
        try uploadPacks(packs.missing(in: layout), &packs, mayBeGone: false, progress)
        // A pack whose file is gone here is in no list: only the folders show that it is lacking.
        let sound = try intact(chosen, packs, present, managed)
        let records = try unblocked(sound, by: packs.blocked, present).map(\.id)
        summary.withLock { $0.walkCount += managed?.walkCount ?? 0 }
        summary.withLock { $0.waitingSnapshotCount = sound.count - records.count }
        try FaultInjection.reached("sync.packs-uploaded")
        // What is read before the records are stored does not depend on the batches of indexes.
        let isGrowing = managed == nil
        let mustLookForPacks = isGrowing && records.contains { present[.snapshot($0)] == nil }
        let reading = isGrowing ? readRegisterInBackground(present) : nil
        let search: BackgroundStep<Bool>? =
            mustLookForPacks ? BackgroundStep { [self] () throws(BackupError) in try mayLackPacks(since: look.begin) } : nil
        defer { _ = (reading?.result, search?.result) }
        try uploadIndexes(present, packs)
        if try search?.value() == true { return false }
        try uploadSources(present, &state)
        let register = try reading?.value() ?? .unknown
        var stored = try uploadRecords(records, &present, remoteLock)
        stored.formUnion(try uploadLabels(of: records, present, &state, keepingPins: managed != nil))
        if managed == nil {
            try uploadRegister(records, present, read: register, stored: stored)
        } else {
            try updateRegister()
        }
        try remoteLock?.requireHeld()
        // A disk that was unmounted meanwhile looks like one whose records and labels were removed.
        try layout.requireOpened()
        summary.withLock { summary in
            summary.snapshotCount = present.keys.count { if case .snapshot = $0 { true } else { false } }
        }
        return true
    }

    /// Whether packs that were there when an update began may be gone before its records are stored. A prune of the mirror lists
    /// them a day before it removes them, so one listing of these lists shows it, unless the update has taken as long.
    private func mayLackPacks(since begin: UInt64) throws(BackupError) -> Bool {
        if SystemClock.bootNanoseconds() - begin > Self.trustedNanoseconds { return true }
        let listed = try storage.list(prefix: MirrorObject.doomedPrefix, after: nil).objects
        return listed.contains { MirrorObject($0.name)?.showsRemovals == true }
    }

    /// Half of the time for which a pack is listed before it is removed.
    private static let trustedNanoseconds = UInt64(DoomedPacks.graceSeconds / 2) * 1_000_000_000

    /// What a storage is a mirror of; `nil` for an empty one. Takes a few requests.
    /// - Throws: `notEmpty` when it holds something else; errors of the storage.
    public static func facts(in storage: any ObjectStorage) throws(BackupError) -> RepositoryFacts? {
        if let found = try declaredFacts(in: storage) {
            if try storage.look(MirrorObject.primary.name) != nil { try requireNoPrimary(.primary, at: storage.location) }
            return found
        }
        try storage.forEachObject { (facts) throws(BackupError) in
            if isBeside(facts.name) || MirrorObject(facts.name).map(mayPrecedeConfiguration) == true { return }
            throw occupied(storage, by: facts.name)
        }
        return nil
    }

    /// For a place that is to have something else.
    /// - Throws: `notEmpty` when there is a repository, or a copy of one.
    public static func requireNoRepository(in storage: any ObjectStorage) throws(BackupError) {
        guard try declaredFacts(in: storage) != nil else { return }
        throw BackupError(
            .notEmpty, "there is a repository or a copy of one here", path: storage.location,
            remedy: "Choose another folder or prefix.")
    }

    /// A copy in the place of a repository would undo what other machines do there: removals, pins, another password.
    static func requireNoPrimary(_ object: MirrorObject, at location: String) throws(BackupError) {
        guard object == .primary else { return }
        throw BackupError(
            .notPermitted, "machines make backups in the repository here, so it cannot be a copy", path: location,
            remedy: "Choose another folder or prefix for the copy.")
    }

    /// What the configuration in a storage says; `nil` when there is none.
    static func declaredFacts(in storage: any ObjectStorage) throws(BackupError) -> RepositoryFacts? {
        let name = MirrorObject.configuration.name
        guard let (bytes, _) = try storage.contents(of: name, limitBytes: RepositoryConfiguration.byteCountLimit) else {
            return nil
        }
        do throws(BackupError) {
            let found = try RepositoryConfiguration(decoding: bytes)
            return RepositoryFacts(id: found.repositoryID, isEncrypted: found.isEncrypted)
        } catch {
            throw error.at("\(storage.location)/\(name)")
        }
    }

    /// What the trial of a server could not remove.
    static func isBeside(_ name: ObjectName) -> Bool {
        name.text.hasPrefix("\(S3Probe.folder)/") || name.text.hasPrefix(deviceChangesPrefix)
    }

    /// The change logs of an app's devices may lie beside a mirror: their names begin with it.
    public static let deviceChangesPrefix = "devices/"

    /// An update that was interrupted at its very beginning leaves the key and the copy of the configuration.
    static func mayPrecedeConfiguration(_ object: MirrorObject) -> Bool {
        [.key, .keyCopy, .configurationCopy].contains(object)
    }

    static func occupied(_ storage: any ObjectStorage, by name: ObjectName?) -> BackupError {
        BackupError(
            .notEmpty, "there is something else: “\(MessageText.shortened(name?.text ?? ""))”", path: storage.location,
            remedy: "Choose an empty folder or prefix for the copy of the repository.")
    }

    /// Makes the storage a mirror of this repository, or proves that it is one.
    private func claim(_ look: MirrorLook, _ state: inout MirrorState) throws(BackupError) {
        let present = look.present
        if present[.configuration] != nil {
            guard let found = look.configuration else {
                throw BackupError(
                    .conflict, "the copy disappeared while it was read", path: storage.location, remedy: "Try again.")
            }
            try found.requireCopy(of: repository.facts, at: storage.location)
        }
        // The key first: without it, nothing of what follows can be read. A damaged file must not replace a whole one of the
        // mirror.
        for (object, path) in [(MirrorObject.keyCopy, layout.keyCopy), (.key, layout.key)] {
            guard let bytes = try FileSystem.readFileIfPresent(path, limitBytes: KeyFile.byteCountLimit) else { continue }
            try putIfWhole(bytes, as: object, present[object], &state) { () throws(BackupError) in
                _ = try KeyFile(decoding: bytes, repositoryID: repository.id)
            }
        }
        // As they were read and authenticated when the repository was opened.
        let reading = repository.configurationReading
        if let copy = reading.copy, copy.bytes == reading.bytes {
            try put(copy.encode(), as: .configurationCopy, present[.configurationCopy], &state)
        }
        try put(reading.bytes, as: .configuration, present[.configuration], &state)
        if let bytes = try FileSystem.readFileIfPresent(layout.readme, limitBytes: Self.readmeLimitBytes) {
            try put(bytes, as: .readme, present[.readme], &state)
        }
        try FaultInjection.reached("sync.claimed")
    }

    private static let readmeLimitBytes = 1 << 20

    /// Uploads an object unless its file is damaged here: the mirror's may be the only whole one.
    /// - Parameter check: throws if the bytes are not what they should be.
    /// - Returns: whether it was stored, or found by reading it.
    @discardableResult
    func putIfWhole(
        _ bytes: [UInt8], as object: MirrorObject, _ known: ObjectFacts?, _ state: inout MirrorState,
        check: () throws(BackupError) -> Void
    ) throws(BackupError) -> Bool {
        do throws(BackupError) {
            try check()
        } catch {
            summary.withLock { $0.unreadable.append(error.at(object.path(in: layout))) }
            return false
        }
        return try put(bytes, as: object, known, &state)
    }

    /// Uploads an object unless the mirror has the same bytes.
    /// - Parameter known: as listed; `nil` when it is missing.
    /// - Returns: as `putIfWhole`.
    @discardableResult
    private func put(
        _ bytes: [UInt8], as object: MirrorObject, _ known: ObjectFacts?, _ state: inout MirrorState
    ) throws(BackupError) -> Bool {
        let name = object.name
        let draft = ObjectDraft(bytes)
        if let known, state.has(name, draft.sha256, known.version) { return false }
        var replaced = known?.version
        if let known, known.sizeBytes == draft.sizeBytes,
            let (found, version) = try storage.contents(of: name, limitBytes: bytes.count)
        {
            if found == bytes {
                state.note(name, draft.sha256, version)
                return true
            }
            replaced = version
        }
        let version: ObjectVersion
        if let replaced {
            version = try storage.replace(name, version: replaced, draft)
        } else {
            version = try create(name, draft, bytes)
        }
        summary.withLock { $0.uploadedBytes += draft.sizeBytes }
        state.note(name, draft.sha256, version)
        kept?.keepObject(object, bytes, version)
        return true
    }

    /// Creates an object, or finds that another update has created the same one since the listing.
    func create(_ name: ObjectName, _ draft: ObjectDraft, _ bytes: [UInt8]) throws(BackupError) -> ObjectVersion {
        do throws(BackupError) {
            return try storage.create(name, draft)
        } catch {
            guard error.code == .alreadyExists, let (found, version) = try storage.contents(of: name, limitBytes: bytes.count),
                found == bytes
            else {
                guard error.code == .alreadyExists || error.code == .tooLarge else { throw error }
                throw BackupError(
                    .conflict, "another program has just stored “\(name)”", path: storage.location, remedy: "Try again.")
            }
            return version
        }
    }
}

// MARK: - Parts

extension RepositoryMirror {
    private func uploadIndexes(_ present: [MirrorObject: ObjectFacts], _ packs: PackUpload) throws(BackupError) {
        try BestEffort.run { () throws(BackupError) in
            try MirrorIndexes(storage: storage, layout: layout, headFolder: stateFolder).update(present, packs: packs.stored) {
                id, bytes in
                summary.withLock { $0.uploadedBytes += UInt64(bytes.count) }
                kept?.keepBatch(id, bytes)
            }
        }
    }

    /// Uploads packs without a lock, until little is left: a first upload may take days, in which a prune must not be kept from
    /// freeing space.
    private func uploadMostPacks(_ packs: inout PackUpload, _ progress: ProgressHandler?) throws(BackupError) {
        for _ in 0..<Self.unlockedRounds {
            let missing = try packs.missing(in: layout)
            // Without the lock, which looks as well: the packs of another disk at this place must not be uploaded.
            try layout.requireOpened()
            guard missing.reduce(UInt64(0), { $0 + $1.sizeBytes }) > Self.lockedLimitBytes else { return }
            try uploadPacks(missing, &packs, mayBeGone: true, progress)
        }
    }

    /// Uploads packs; each is verified before.
    /// - Parameter mayBeGone: whether a prune may remove packs meanwhile, so that a missing one is skipped.
    private func uploadPacks(
        _ missing: [PackUpload.Pack], _ packs: inout PackUpload, mayBeGone: Bool, _ progress: ProgressHandler?
    ) throws(BackupError) {
        let present = packs.present
        let outcome = Mutex((uploaded: [PackUpload.Pack](), damaged: Set<PackID>()))
        defer { outcome.withLock { packs.note(uploaded: $0.uploaded, damaged: $0.damaged) } }
        try ParallelTransfer(phase: "Uploading...", progress: progress).run(missing, sizeBytes: { $0.sizeBytes }) {
            [self] (pack) throws(BackupError) in
            do throws(BackupError) {
                try upload(pack.id, present[.pack(pack.id)])
                outcome.withLock { $0.uploaded.append(pack) }
            } catch {
                // The others are not affected.
                switch error.code {
                case .repositoryDamaged, .unsupportedVersion:
                    outcome.withLock { _ = $0.damaged.insert(pack.id) }
                    summary.withLock { $0.unreadable.append(error) }
                case .notFound where mayBeGone: return
                default: throw error
                }
            }
        }
    }

    /// Fewer missing bytes than this are uploaded while a prune is kept from running.
    private static let lockedLimitBytes: UInt64 = 64 << 20
    /// Backups that are made faster than they are uploaded must not keep an update from its end.
    private static let unlockedRounds = 4

    private func upload(_ pack: PackID, _ known: ObjectFacts?) throws(BackupError) {
        let file = try layout.openPack(pack)
        try requireSound(pack, file)
        let draft = try ObjectDraft(file)
        let name = MirrorObject.pack(pack).name
        do throws(BackupError) {
            // Another length: it was cut off, or damaged otherwise.
            if let known {
                _ = try storage.replace(name, version: known.version, draft)
            } else {
                _ = try storage.create(name, draft)
            }
        } catch {
            // Another update, or the lost attempt of this one. The name stands for the bytes.
            guard error.code == .alreadyExists, try storage.look(name)?.sizeBytes == draft.sizeBytes else { throw error }
        }
        summary.withLock { summary in
            summary.uploadedPackCount += 1
            summary.uploadedBytes += draft.sizeBytes
        }
        kept?.keepPack(pack, file)
        try FaultInjection.reached("sync.pack-uploaded")
    }

    /// A damaged pack in the mirror would be as bad as none, and would look like one.
    func requireSound(_ pack: PackID, _ file: SharedFile) throws(BackupError) {
        let chunks = try PackIndex.read(file, pack: pack, protection: repository.protection).storedChunks(in: pack)
        let verifier = ChunkVerifier(repository)
        try PackDataReader(repository).read(chunks, of: pack) { (chunk, packed) throws(BackupError) in
            let bytes = try packed.get()
            // Plain chunks have a checksum of their stored bytes, which is much faster than expanding them.
            if !repository.protection.isSealing, CRC32.of(bytes) == chunk.storedCRC32 { return }
            if case .damaged(let error) = verifier.verify(chunk, bytes) {
                throw error.with(
                    .repositoryDamaged, path: file.path,
                    remedy: "Nothing of this pack is uploaded. See what is affected with: backupfs check --read-data")
            }
        }
    }
}
