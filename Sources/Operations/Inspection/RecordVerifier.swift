import AppData
import BackupCore
import BackupRepository
import Formats
import SnapshotFormats
import SystemIO

/// Checks the records of an extracted backup: the export as a restore would, the database, and whether both hold the same.
struct RecordVerifier {
    private static let findingLimit = 100
    private static let shownReferenceCount = 3

    private let files: String
    private let workPath: String
    private let definition: AppDefinition
    /// The export that was rendered from the backup's database; `nil` where the backup has one.
    private let renderedExport: (any ByteSource)?
    private(set) var findings: [Message] = []
    private(set) var notes: [Message] = []
    private(set) var recordCount = 0
    /// The rows of the backup's database, which a restore copies whatever their values; `nil` where records are restored.
    private var rows: BackupRows?

    /// - Parameters:
    ///   - files: the folder with the backup's files.
    ///   - workPath: for temporary files, on a disk with space for a second export and database.
    ///   - renderedExport: rendered from the backup's database, which has no other.
    init(files: String, workPath: String, definition: AppDefinition, renderedExport: (any ByteSource)? = nil) {
        self.files = files
        self.renderedExport = renderedExport
        self.workPath = workPath
        self.definition = definition
    }

    /// Files that could not be written are already reported; checks that depend on them are skipped.
    mutating func run(_ snapshot: Snapshot, _ root: Directory) throws(BackupError) {
        guard let app = snapshot.record.attributes["app"], app == definition.name else {
            notes.append("the records were not checked: the backup is of another app")
            return
        }
        rows = try copiedRows()
        let export = try validateExport()
        let manifest = try readManifest()
        if let export {
            if let problem = UnknownFields.problem(export, definition) {
                findings.append("export.json: \(problem)")
                return
            }
            recordCount = export.toldCounts.reduce(0) { $0 + $1.count }
            if let manifest { compare("export.json", export.toldCounts.map { ($0.name, $0.count) }, with: manifest) }
        }
        if export != nil, try lacksOnlyFields() {
            notes.append(
                "the database was not compared with the export: the app's definition has got fields or collections since the backup was made"
            )
            return
        }
        guard let counts = try checkDatabase() else { return }
        if let manifest { compare("database.sqlite", counts.map { ($0.name, $0.count) }, with: manifest) }
        guard let export else {
            if try !FileSystem.exists(path("export.json")) { recordCount = counts.reduce(0) { $0 + $1.count } }
            return
        }
        guard renderedExport == nil else {
            // It was made of this database, so there is nothing to compare.
            return try checkTriggers(of: database())
        }
        let version = snapshot.schemaVersion
        guard let version, definition.format(ofVersion: version).schemaVersion == version else {
            notes.append("the database was not compared with the export: the app's schema has another version now")
            return
        }
        try compareDatabase(root, createdAt: export.createdAt ?? snapshot.creationTime)
    }

    private func copiedRows() throws(BackupError) -> BackupRows? {
        guard try FileSystem.exists(path("database.sqlite")) else { return nil }
        do throws(BackupError) {
            return try BackupRows.ofAllRecords(path: path("database.sqlite"), definition: definition)?.rows
        } catch let error where [.invalidContent, .damagedContent, .unsupportedVersion, .tooLarge].contains(error.code) {
            // A later step examines it and reports the problem as a finding.
            return nil
        }
    }

    private func lacksOnlyFields() throws(BackupError) -> Bool {
        guard !definition.coversWholeDatabase, try FileSystem.exists(path("database.sqlite")) else { return false }
        return (try? DroppedDatabase.lacksOnlyFields(path: path("database.sqlite"), definition: definition)) ?? false
    }

    private func path(_ name: String) -> String { "\(files)/\(name)" }

    /// Runs `body` for an existing file, and records problems with the file as findings.
    private mutating func looking<Result>(
        at name: String, _ body: (_ path: String) throws(BackupError) -> Result
    ) throws(BackupError) -> Result? {
        guard try FileSystem.exists(path(name)) else { return nil }
        do throws(BackupError) {
            return try body(path(name))
        } catch let error where [.invalidContent, .damagedContent, .unsupportedVersion, .tooLarge].contains(error.code) {
            findings += (error.findings.isEmpty ? [error.message] : error.findings).map { "\(name): \($0)" }
            return nil
        }
    }

    private mutating func validateExport() throws(BackupError) -> ImportSummary? {
        // If no definition describes the database, its copy in the backup defines the tables.
        let definition = definition
        let format: AppDefinition
        if definition.coversWholeDatabase {
            let found = try looking(at: "database.sqlite") { (path) throws(BackupError) in
                try AppDatabase(at: path, definition: definition).currentFormat()
            }
            format = found ?? definition
        } else {
            format = definition
        }
        let isCopied = rows != nil
        func check(_ source: any ByteSource) throws(BackupError) -> ImportSummary {
            try WireImport(source, definition: format, limitsMetadata: false, acceptsValues: isCopied).summary
        }
        let summary: ImportSummary?
        if let renderedExport {
            summary = try looking(at: "database.sqlite") { (_) throws(BackupError) in try check(renderedExport) }
        } else {
            summary = try looking(at: "export.json") { (path) throws(BackupError) in try check(SharedFile(path: path)) }
        }
        if let values = summary?.acceptedValues { notes.append(values) }
        return summary
    }

    private mutating func readManifest() throws(BackupError) -> [String: Int]? {
        try looking(at: "manifest.json") { (path) throws(BackupError) in try ManifestCounts.read(try SharedFile(path: path)) }
    }

    private mutating func compare(_ file: String, _ counts: [(name: String, count: Int)], with manifest: [String: Int]) {
        // A collection that was added to the definition later is in neither.
        for (name, count) in counts where manifest[name] ?? 0 != count {
            findings.append("\(file): it has \(count) records in \(name), the manifest says \(manifest[name] ?? 0)")
        }
    }

    /// - Returns: its record counts; `nil` when it cannot be read.
    private mutating func checkDatabase() throws(BackupError) -> [RecordCount]? {
        let definition = definition
        var unexported: UnexportedData?
        var dangling: [String] = []
        var problems = try looking(at: "database.sqlite") { (path) throws(BackupError) in
            let database = try DroppedDatabase(path: path, definition: definition)
            unexported = database.unexported
            dangling = try database.danglingReferences(limit: Self.findingLimit)
            return try database.integrityProblems(limit: Self.findingLimit)
        }
        // Where rows or the whole database are copied, they come back unchanged.
        if rows == nil, !definition.coversWholeDatabase {
            problems? += dangling
        } else if !dangling.isEmpty {
            notes.append(
                "database.sqlite: \(MessageText.list(dangling, limit: Self.shownReferenceCount)). A restore brings such rows back as they are"
            )
        }
        guard let problems else { return nil }
        if let finding = unexported?.finding { findings.append("database.sqlite: \(finding)") }
        findings += problems.map { "database.sqlite: \($0)" }
        guard problems.isEmpty else { return nil }
        let database = try database()
        return try looking(at: "database.sqlite") { (_) throws(BackupError) in
            try database.check()
            return try database.counts()
        }
    }

    /// Includes the media beside it and reads every file: their checksums must be those of the export.
    private func database() throws(BackupError) -> AppDatabase {
        let media = "\(files)/media"
        var catalog: ReadMediaCatalog?
        if definition.describesMedia, try FileSystem.exists(media) { catalog = ReadMediaCatalog(path: media) }
        return AppDatabase(at: path("database.sqlite"), definition: definition, media: catalog)
    }

    /// Whether this is the list of an old backup, whose archive contains names that no file can have.
    private func hasLongNames(_ collection: String) throws(BackupError) -> Bool {
        guard let naming = ManifestNaming(definition), naming.collection == collection else { return false }
        return try naming.hasLongNames(in: SharedFile(path: path("data/\(collection).json")))
    }

    private mutating func checkTriggers(of database: AppDatabase) throws(BackupError) {
        let problem = try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.triggerProblem() }
        if let problem { findings.append("database.sqlite: a restore would be refused: \(problem)") }
    }

    /// Exports the database again, which must reproduce the export beside it.
    private mutating func compareDatabase(_ root: Directory, createdAt: Timestamp) throws(BackupError) {
        let database = try database()
        try database.check()
        try checkTriggers(of: database)
        let rendering = try AppRendering(of: database, in: workPath, createdAt: createdAt)
        guard try SourceChecksums.of(rendering.export).sha256 != SharedFile(path: path("export.json")).sha256() else { return }
        var hasFinding = false
        for (name, collection) in rendering.collections {
            guard try FileSystem.exists(path("data/\(name).json")) else { continue }
            let key = definition.keyName(ofCollection: name)
            let comparison = try CollectionComparison.compare(
                old: SharedFile(path: path("data/\(name).json")), new: collection, knownKey: key)
            let count = comparison.added.count + comparison.changed.count + comparison.removed.count
            guard count > 0 else { continue }
            hasFinding = true
            if try hasLongNames(name) {
                notes.append("\(name) was not compared with the database: it has longer names than this program makes now")
                continue
            }
            findings.append("database.sqlite: \(count) records of \(name) are not those of export.json")
        }
        if !hasFinding { findings.append("database.sqlite: what it holds besides the records is not what export.json has") }
    }
}
