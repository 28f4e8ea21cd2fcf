import AppData
import BackupCore
import BackupRepository
import Formats
import Synchronization
import SystemIO

/// Stores the app's records into a running backup: the collections, the export made of them, and the database. A database that is
/// unchanged since the newest backup is not read again.
struct RecordsBackup {
    /// What the rendering of a store's records depends on, besides the form of their tables.
    static func renderingForm(of store: Store) -> String {
        "\(AppRendering.renderingVersion) \(store.definition.digest.hexadecimal)"
    }

    let store: Store
    /// The app's database, or a copy made when the backup began.
    let database: AppDatabase
    /// The state of the app's database when the copy was made; `nil` when it is not a copy.
    var copiedState: DatabaseChangeState?
    let writer: BackupWriter
    let earlier: PreviousBackup
    let createdAt: Timestamp
    let progress: BackupProgress
    let earlierRows: EarlierRows
    /// Whether the export is stored; if not, the database alone is.
    let storesExport: Bool

    func run() throws(BackupError) -> StoredRecords {
        let state = try databaseState()
        if let state, state == earlier.databaseState, let records = try takeOver(state) {
            progress.update { $0[.data].totalBytes = 0 }
            return records
        }
        expectBytes()
        if earlierRows.mayBeTaken, let records = try render(state, usingEarlier: true) { return records }
        // The earlier rows were not what they should be, or their chunks are not there.
        guard let records = try render(state, usingEarlier: false) else {
            throw BackupError(.inputOutput, "the records were not stored", path: store.database.path)
        }
        return records
    }

    /// The database is read once; the export is written, then read when it is stored. Its size is estimated from the earlier one.
    private func expectBytes() {
        let databaseBytes = FileSystem.statusIfPresent(database.path)?.size ?? 0
        let exportBytes = storesExport ? earlier.file(["export.json"])?.size ?? databaseBytes : 0
        let expected = databaseBytes + 2 * exportBytes
        progress.update { $0[.data].totalBytes = expected }
    }

    /// Identifies a state of the database, also across runs of the program and definitions.
    private func databaseState() throws(BackupError) -> String? {
        guard let state = (copiedState ?? database.changeState()).description else { return nil }
        let text = "\(Self.renderingForm(of: store)) \(state)"
        guard let media = database.media else { return text }
        return try media.state().map { "\(text) \($0)" }
    }

    /// The entry of the export, which consists of these pieces. Its CRC-32 comes from theirs, and its digests are computed when
    /// they are asked for: the time in the export's first lines is another in each backup, so all bytes would be read for them.
    private func export(_ pieces: [ExportPiece]) -> TreeEntry {
        let crc32 = pieces.dropFirst().reduce(pieces.first?.crc32 ?? 0) { sum, piece in
            CRC32.combine(sum, piece.crc32, secondLength: piece.content.size)
        }
        return .derivedFile(
            name: "export.json", mode: 0o600, modificationTime: createdAt,
            content: FileContent.concatenating(pieces.map(\.content)), crc32: crc32)
    }

    /// - Parameter export: `nil` where it is not stored.
    private func records(
        _ facts: RecordFacts, _ collections: [StoredRecords.Collection], database: TreeEntry, export: TreeEntry?, _ state: String?
    ) throws(BackupError) -> StoredRecords {
        guard let export else {
            return StoredRecords(facts: facts, collections: [], entries: [database], databaseState: state)
        }
        let data = try writer.store(collections.map(\.entry))
        return StoredRecords(
            facts: facts, collections: collections,
            entries: [
                .directory(name: "data", mode: 0o700, modificationTime: createdAt, stored: data), database, export,
            ], databaseState: state)
    }
}

// MARK: - From the database

extension RecordsBackup {
    /// - Parameter usesEarlier: whether rows that have not changed may be taken from the newest backup.
    /// - Returns: `nil` when that was not possible.
    private func render(_ state: String?, usingEarlier usesEarlier: Bool) throws(BackupError) -> StoredRecords? {
        let rows = RowRendering(
            folder: store.paths.renderedRows, repository: store.repository,
            form: Self.renderingForm(of: store), previous: earlier, usesEarlier: usesEarlier)
        var isPossible = true
        // Storing the database runs beside writing the export and storing its collections.
        let aside = WorkGroup(WorkerPool(threadCount: 1, queueLimit: 1))
        let storedDatabase = Mutex<StoredFile?>(nil)
        var collections: [StoredRecords.Collection] = []
        var rendering: AppRendering?
        do throws(BackupError) {
            let rendered = try store.withWorkFolder { (folder) throws(BackupError) in
                try AppRendering(
                    of: database, in: folder, createdAt: createdAt, checksDatabase: true, rendersRecords: storesExport,
                    rows: storesExport ? rows : nil,
                    progress: { [progress] bytes in progress.update { $0[.data].processedBytes += bytes } }
                ) {
                    (copy) throws(BackupError) in
                    let policy = ChunkingPolicy.database(pageSizeBytes: try AppRendering.pageSizeBytes(of: copy))
                    try writer.requireStorable(byteCount: copy.size, policy: policy)
                    let earlierContent = earlier.content(["database.sqlite"])
                    aside.submit { [writer, progress] () throws(BackupError) in
                        let stored = try writer.store(copy, policy: policy, earlier: earlierContent) { bytes in
                            progress.update { $0[.data].processedBytes += bytes }
                        }
                        storedDatabase.withLock { $0 = stored }
                    }
                }
            }
            rendering = rendered
            isPossible = rows.isConsistent
            let splices = rendered.collections.map { isPossible ? rows.splice($0.name) : nil }
            let splicedBytes = splices.reduce(0) { $0 + ($1?.file.size ?? 0) }
            try writer.requireStorable(byteCount: rendered.export.size + splicedBytes, policy: .structuredText)
            let collectionBytes = rendered.collections.reduce(splicedBytes) { $0 + $1.file.size }
            progress.update { $0[.data].totalBytes = rendered.database.size + rendered.export.size + collectionBytes }
            for ((name, rendered), splice) in zip(rendered.collections, splices) where isPossible && storesExport {
                let fileName = FileName("\(name).json")
                let source: any ByteSource = splice?.file ?? rendered
                guard let stored = try store(rendered, splice, earlier: earlier.content(["data", fileName])) else {
                    isPossible = false
                    continue
                }
                rows.keep(name, stored: stored)
                let entry = TreeEntry.derivedFile(
                    name: fileName, mode: 0o600, modificationTime: createdAt, stored: stored)
                collections.append(StoredRecords.Collection(collection: name, entry: entry, source: source))
            }
        } catch {
            // Running work must end before the backup is taken apart.
            aside.fail(error)
        }
        try aside.wait()
        guard isPossible || !usesEarlier else { return nil }
        guard let rendering, let database = storedDatabase.withLock({ $0 }) else {
            throw BackupError(.inputOutput, "the records were not stored", path: store.database.path)
        }
        // No state is kept for a damaged database: each backup checks it again and reports it.
        var stored = try records(
            rendering.facts, collections,
            database: .file(name: "database.sqlite", mode: 0o600, modificationTime: createdAt, stored: database),
            export: storesExport ? export(try pieces(rendering, collections)) : nil,
            rendering.damage == nil ? state : nil)
        stored.damage = rendering.damage
        stored.inexact = rendering.inexact
        stored.refused = rendering.refused
        rows.removeOthers()
        return stored
    }

    /// - Parameters:
    ///   - rendered: the whole collection.
    ///   - splice: what it is instead, if only a part was rendered.
    /// - Returns: `nil` when it cannot be that.
    private func store(
        _ rendered: SpoolFile, _ splice: RowRendering.SplicedCollection?, earlier: FileContent?
    ) throws(BackupError) -> StoredDerivedFile? {
        func note(_ bytes: UInt64) { progress.update { $0[.data].processedBytes += bytes } }
        guard let splice else {
            return try writer.storeDerived(rendered, policy: .structuredText, earlier: earlier, progress: note)
        }
        try FaultInjection.reached("records.spliced")
        earlierRows.noteTaken()
        do throws(BackupError) {
            return try writer.storeSpliced(
                splice.file, earlier: splice.earlier, chunkCRC32s: splice.chunkCRC32s, policy: .structuredText, progress: note)
        } catch {
            guard error.code == .repositoryDamaged || error.code == .unsupportedVersion else { throw error }
            return nil
        }
    }

    /// The export consists of the collections' own chunks; only what is between them is stored separately.
    private func pieces(
        _ rendering: AppRendering, _ collections: [StoredRecords.Collection]
    ) throws(BackupError) -> [ExportPiece] {
        var pieces: [ExportPiece] = []
        var position: UInt64 = 0
        for (part, collection) in zip(rendering.collections, collections) {
            pieces.append(ExportPiece(text: try bytes(rendering.export, position..<part.file.range.lowerBound)))
            pieces.append(try ExportPiece(collection: collection.entry))
            position = part.file.range.upperBound
        }
        return pieces + [ExportPiece(text: try bytes(rendering.export, position..<rendering.export.size))]
    }

    private func bytes(_ source: SpoolFile, _ range: Range<UInt64>) throws(BackupError) -> [UInt8] {
        let bytes = try source.bytes(at: range.lowerBound, upTo: Int(range.upperBound - range.lowerBound))
        guard bytes.count == range.count else { throw BackupError(.inputOutput, "the rendered export became shorter") }
        return bytes
    }
}

// MARK: - From the newest backup

extension RecordsBackup {
    /// - Returns: `nil` when the newest backup is incomplete, or the database changed meanwhile.
    private func takeOver(_ state: String) throws(BackupError) -> StoredRecords? {
        guard storesExport else { return try takeOverDatabase(state) }
        let envelope = EnvelopeSink()
        let facts = try database.readSnapshot { (snapshot) throws(BackupError) in
            _ = try WireWriter().write(snapshot, createdAt: createdAt, to: envelope, omittingRecords: true)
            return try knownFacts(of: snapshot)
        }
        guard try databaseState() == state else { return nil }
        var found: [TreeEntry] = []
        for name in envelope.collections {
            guard let entry = earlier.file(["data", FileName("\(name).json")]) else { return nil }
            found.append(entry)
        }
        guard let database = earlier.file(["database.sqlite"]),
            try writer.takeOver(found.map(\.content) + [database.content]).allSatisfy({ $0 })
        else { return nil }
        var pieces: [ExportPiece] = []
        for (literal, entry) in zip(envelope.literals, found) {
            pieces += [ExportPiece(text: literal), try ExportPiece(collection: entry)]
        }
        pieces.append(ExportPiece(text: envelope.literals[found.count]))

        var collections: [StoredRecords.Collection] = []
        for (name, entry) in zip(envelope.collections, found) {
            let source = StoredContentSource(entry.content, in: store.repository)
            collections.append(
                StoredRecords.Collection(collection: name, entry: entry.renewed(at: createdAt), source: source))
        }
        var stored = try records(
            facts, collections, database: database.renewed(at: createdAt), export: export(pieces), state)
        stored.inexact = InexactValues(of: earlier.snapshot)
        stored.refused = RefusedValues(of: earlier.snapshot)
        return stored
    }

    /// The same where the export is not stored.
    private func takeOverDatabase(_ state: String) throws(BackupError) -> StoredRecords? {
        let facts = try database.readSnapshot { (snapshot) throws(BackupError) in try knownFacts(of: snapshot) }
        guard try databaseState() == state, let database = earlier.file(["database.sqlite"]),
            try writer.takeOver([database.content]) == [true]
        else { return nil }
        var stored = try records(facts, [], database: database.renewed(at: createdAt), export: nil, state)
        stored.refused = RefusedValues(of: earlier.snapshot)
        return stored
    }

    /// What is known of the newest backup's records is true of these.
    private func knownFacts(of snapshot: DatabaseSnapshot) throws(BackupError) -> RecordFacts {
        let isAllExported = earlier.snapshot?.record.attributes[Snapshot.allExportedAttribute] == "1"
        return try RecordFacts(of: snapshot, knownCounts: earlierCounts, isAllExported: isAllExported)
    }

    /// The number of records of each collection in the newest backup; none where its manifest cannot be read.
    private var earlierCounts: [String: Int] {
        guard let manifest = earlier.content(["manifest.json"]) else { return [:] }
        return (try? ManifestCounts.read(StoredContentSource(manifest, in: store.repository))) ?? [:]
    }
}

/// A piece of an export: a stored collection, or the text around the collections.
private struct ExportPiece {
    let content: FileContent
    let crc32: UInt32

    init(text: [UInt8]) {
        content = FileContent(literal: text)
        crc32 = CRC32.of(text)
    }

    /// - Throws: `invalidArgument` for what is no file.
    init(collection: TreeEntry) throws(BackupError) {
        guard let crc32 = collection.crc32 else {
            throw BackupError(.invalidArgument, "the records were not stored", path: collection.name.description)
        }
        content = collection.content
        self.crc32 = crc32
    }
}

/// Keeps the text around the collections of an export: one piece before each, and one at the end.
private final class EnvelopeSink: WireSink {
    private(set) var literals: [[UInt8]] = [[]]
    private(set) var collections: [String] = []

    func write(literal bytes: UnsafeRawBufferPointer) { literals[literals.count - 1].append(contentsOf: bytes) }
    func write(collection bytes: UnsafeRawBufferPointer) {}
    func beginCollection(_ name: String) { collections.append(name) }
    func endCollection(_ name: String) { literals.append([]) }
}
