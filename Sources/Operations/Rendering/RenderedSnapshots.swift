import AppData
import BackupCore
import BackupRepository
import SnapshotFormats
import Synchronization
import SystemIO

/// The exports of snapshots that do not store them but show them (`export: live`), for the mount. Sizes come from a record on
/// disk, or else from a rendering, which happens once. The text is rendered again when it is read and no longer there.
public final class RenderedSnapshots: Sendable {
    /// The exports whose facts are held in memory.
    private static let countLimit = 4_096
    /// Texts beyond the two last read are let go when all take more.
    public static let textLimitBytes: UInt64 = 1 << 30

    private let store: Store
    private let texts: RenderedTexts
    private let known = Mutex<[SnapshotID: RenderedFiles]>([:])

    public init(store: Store, textLimitBytes: UInt64 = textLimitBytes) {
        self.store = store
        texts = RenderedTexts(store, limitBytes: textLimitBytes)
    }

    /// Whether a snapshot is shown with an export that is not stored. One of another app is shown as it is stored.
    public func shows(_ snapshot: Snapshot) -> Bool { snapshot.showsRenderedExport && snapshot.isOfApp(store.definition) }

    /// - Parameter repository: where the snapshot is.
    /// - Returns: `nil` for a snapshot that is shown as it is stored.
    /// - Throws: errors of rendering.
    public func files(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> RenderedFiles? {
        guard shows(snapshot) else { return nil }
        if let files = known.withLock({ $0[snapshot.id] }) { return files }
        let key = RenderedFacts.key(of: snapshot, store.definition)
        let facts: RenderedFacts
        if let kept = RenderedFacts(key, in: store.paths.renderedExports) {
            facts = kept
        } else {
            facts = try measured(snapshot, key, in: repository)
            facts.keep(key, in: store.paths.renderedExports)
        }
        let files = try files(of: snapshot, facts, key, in: repository)
        return known.withLock { known in
            // Sizes that were given out stay.
            if let first = known[snapshot.id] { return first }
            if known.count >= Self.countLimit { known.removeAll() }
            known[snapshot.id] = files
            return files
        }
    }

    /// The sizes of the archive that a program may have copied out of the mount, and of the export, as far as they are known
    /// without rendering anything.
    func knownFacts(of snapshot: Snapshot) -> RenderedFacts? {
        guard shows(snapshot) else { return nil }
        return RenderedFacts(RenderedFacts.key(of: snapshot, store.definition), in: store.paths.renderedExports)
    }

    /// Lets go of texts that no program has read for this long.
    public func letGo(idleSeconds: Double) { texts.letGo(idleSeconds: idleSeconds) }

    private func measured(
        _ snapshot: Snapshot, _ key: SHA256Digest, in repository: Repository
    ) throws(BackupError) -> RenderedFacts {
        var facts = try texts.text(of: snapshot, key, in: repository).facts
        let files = try files(of: snapshot, facts, key, in: repository)
        facts.archiveSizes = try ArchiveSizes(of: snapshot, with: files, in: repository)
        return facts
    }

    private func files(
        of snapshot: Snapshot, _ facts: RenderedFacts, _ key: SHA256Digest, in repository: Repository
    ) throws(BackupError) -> RenderedFiles {
        try facts.files(of: snapshot, store.definition.archiveLayout) { [texts] range in
            RenderedPart(texts, snapshot, key, facts, repository, range)
        }
    }
}

/// The texts of rendered exports: unlinked files, of a limited size altogether.
final class RenderedTexts: Sendable {
    struct Text: Sendable {
        let key: SHA256Digest
        let export: SpoolFile
        let facts: RenderedFacts
        var readNanoseconds: UInt64
    }

    /// These stay whatever their size: a program may compare two.
    private static let keptCount = 2

    private let store: Store
    private let limitBytes: UInt64
    /// The last read at the end.
    private let texts = Mutex<[Text]>([])
    /// Held while rendering, so that concurrent readers share one rendering.
    private let rendering = Mutex(())

    init(_ store: Store, limitBytes: UInt64) {
        self.store = store
        self.limitBytes = limitBytes
    }

    func text(of snapshot: Snapshot, _ key: SHA256Digest, in repository: Repository) throws(BackupError) -> Text {
        if let text = held(key) { return text }
        return try rendering.withLock { (_) throws(BackupError) -> Text in
            if let text = held(key) { return text }
            do throws(BackupError) {
                try FaultInjection.reached("export.rendering")
                let root = try repository.rootDirectory(of: snapshot)
                let made = try SnapshotRendering(of: snapshot, root, in: repository, for: store)
                let text = Text(
                    key: key, export: made.export, facts: made.facts, readNanoseconds: SystemClock.monotonicNanoseconds())
                texts.withLock { texts in
                    texts.append(text)
                    limit(&texts)
                }
                return text
            } catch {
                if error.code != .interrupted { store.log.noteRendering(of: snapshot, error) }
                throw error
            }
        }
    }

    private func held(_ key: SHA256Digest) -> Text? {
        texts.withLock { texts in
            guard let index = texts.firstIndex(where: { $0.key == key }) else { return nil }
            var text = texts.remove(at: index)
            text.readNanoseconds = SystemClock.monotonicNanoseconds()
            texts.append(text)
            return text
        }
    }

    private func limit(_ texts: inout [Text]) {
        var byteCount = texts.reduce(0) { $0 + $1.export.size }
        while byteCount > limitBytes, texts.count > Self.keptCount { byteCount -= texts.removeFirst().export.size }
    }

    func letGo(idleSeconds: Double) {
        let now = SystemClock.monotonicNanoseconds()
        texts.withLock { texts in
            // Another thread may have read one since.
            texts.removeAll { Double(now - min(now, $0.readNanoseconds)) / 1e9 >= idleSeconds }
        }
    }

    /// The rendering that a program reads is not the one whose sizes it was given.
    func differs(_ snapshot: Snapshot) -> BackupError {
        let error = BackupError(
            .inputOutput, "the export of the backup was rendered once more, and has other bytes than before",
            path: snapshot.name.description,
            remedy: "Mount the store again. The backup's database is not affected.")
        store.log.noteRendering(of: snapshot, error)
        return error
    }
}

/// A range of a rendered export, which is rendered when it is read.
private final class RenderedPart: ByteSource {
    private let texts: RenderedTexts
    private let snapshot: Snapshot
    private let key: SHA256Digest
    /// Those that were given out.
    private let facts: RenderedFacts
    private let repository: Repository
    private let range: Range<UInt64>

    init(
        _ texts: RenderedTexts, _ snapshot: Snapshot, _ key: SHA256Digest, _ facts: RenderedFacts, _ repository: Repository,
        _ range: Range<UInt64>
    ) {
        self.texts = texts
        self.snapshot = snapshot
        self.key = key
        self.facts = facts
        self.repository = repository
        self.range = range
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let text = try texts.text(of: snapshot, key, in: repository)
        guard text.facts.isSameText(as: facts) else { throw texts.differs(snapshot) }
        return try text.export.part(range).read(at: offset, into: buffer)
    }
}
