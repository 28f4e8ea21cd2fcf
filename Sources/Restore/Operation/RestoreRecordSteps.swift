import AppData
import BackupCore
import Glibc
import SystemIO

/// Writes the records of a restore, also into a copy.
extension RestoreOperation {
    /// Writes the records into a database.
    /// - Parameters:
    ///   - guarding: knows whether the app has changed its records since they were saved; `nil` for a copy, which no app has
    ///     open.
    ///   - save: saves them once more.
    ///   - beforeCommit: called inside the transaction, or right before it when a whole database is exchanged.
    func writeRecords(
        _ checked: CheckedImport, into database: AppDatabase, marker: RestoreMarker?, _ media: MediaPreparation,
        guarding: CommitGuard? = nil, saving save: () throws(BackupError) -> Void = { () throws(BackupError) in },
        beforeCommit: (ImportOutcome) throws(BackupError) -> Void
    ) throws(BackupError) {
        var instructions = ImportInstructions(strategy: checked.strategy)
        instructions.expectedCounts = checked.summary.recordCounts
        instructions.fileVersion = checked.summary.schemaVersion
        instructions.marker = marker
        instructions.scratchPath = "\(workPath)/scratch-\(RandomToken.make()).sqlite"
        instructions.mediaNames = media.names
        instructions.restoresSettings = restoresSettings
        instructions.rows = checked.rows
        instructions.isPart = checked.isPart
        if checked.staysInRecreation {
            let outcome = newOutcome(checked)
            return try database.keepRecords(
                checked.summary.recordCounts, of: checked.definition, marker: marker,
                whenLocked: { () throws(BackupError) in try guarding?.saveNewCommits(by: save) },
                beforeCommit: { () throws(BackupError) in try beforeCommit(outcome) })
        }
        switch checked.records {
        case .wire(let source):
            try database.run(
                instructions, from: source, whenLocked: { () throws(BackupError) in try guarding?.saveNewCommits(by: save) },
                beforeCommit: beforeCommit)
        case .database(let source):
            try database.run(
                instructions, from: source, whenLocked: { () throws(BackupError) in try guarding?.saveNewCommits(by: save) },
                beforeCommit: beforeCommit)
        case .whole(let source):
            try beforeCommit(wholeOutcome(checked, database))
            try database.replaceWhole(
                by: source, stagingPath: "\(workPath)/exchange.sqlite", marker: marker,
                beforeLocking: { () throws(BackupError) in try guarding?.saveNewCommitsSoFar(by: save) },
                withoutOthers: { (body) throws(BackupError) in
                    if let guarding { try guarding.withoutConnection(body, savingBy: save) } else { try body() }
                },
                whenLocked: { () throws(BackupError) in try guarding?.requireNoNewCommits() })
        }
    }

    /// The exact outcome of `run`: performs the same steps on a copy of the database. No copy is made if the outcome is known
    /// without one.
    public func rehearse(_ checked: CheckedImport) throws(BackupError) -> RestoreOutcome {
        let media = try mediaPreparation(checked)
        if let records = try knownOutcome(checked) { return RestoreOutcome(records: records, media: media.outcome()) }
        let path = "\(workPath)/rehearsal-\(RandomToken.make()).sqlite"
        let copy: AppDatabase
        if try !database.isLost() {
            var room = DiskSpaceRequirement()
            try room.need((FileSystem.statusIfPresent(database.path)?.size ?? 0) * 3 + (1 << 20), at: workPath)
            try room.require()
            try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.copyDatabase(to: path) }
            copy = AppDatabase(at: path, definition: definition)
        } else {
            copy = try makeLost(at: path)
        }
        defer { for suffix in [""] + DatabaseLogs.suffixes { try? FileSystem.removeFile(path + suffix) } }
        var outcome: RestoreOutcome?
        try writeRecords(checked, into: copy, marker: nil, media) { (records) throws(BackupError) in
            outcome = RestoreOutcome(records: records, media: media.outcome())
        }
        guard let outcome else { throw BackupError(.inputOutput, "the rehearsal gave no result", path: path) }
        return outcome
    }

    /// A copy of the lost database in its state before the restore fills it.
    func makeLost(at path: String) throws(BackupError) -> AppDatabase {
        guard let recreation else { return try AppDatabase.create(at: path, definition: definition) }
        let source = try SharedFile(path: recreation)
        try source.copy(source.size, to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600), named: path)
        return AppDatabase(at: path, definition: definition)
    }

    /// When everything is replaced, the numbers are those of the file and of the existing data: `run` verifies them.
    private func knownOutcome(_ checked: CheckedImport) throws(BackupError) -> ImportOutcome? {
        if checked.staysInRecreation { return newOutcome(checked) }
        if case .whole = checked.records { return try wholeOutcome(checked, database) }
        guard checked.strategy == .replace, !definition.coversWholeDatabase,
            checked.definition.collections.allSatisfy({ $0.rules.keepOnReplaceIndex == nil })
        else { return nil }
        return try wholeOutcome(checked, database)
    }

    /// All existing records go, all records of the file come.
    private func wholeOutcome(_ checked: CheckedImport, _ database: AppDatabase) throws(BackupError) -> ImportOutcome {
        var outcome = newOutcome(checked)
        guard try !database.isLost() else { return outcome }
        try database.readSnapshot { (snapshot) throws(BackupError) in
            for (index, collection) in snapshot.definition.collections.enumerated() where collection.source != .manifest {
                outcome.removed(try snapshot.count(of: index), of: collection)
            }
        }
        return outcome
    }

    /// All records of the file come.
    private func newOutcome(_ checked: CheckedImport) -> ImportOutcome {
        ImportOutcome(
            strategy: .replace,
            collections: checked.summary.toldCounts.map { count in
                var outcome = CollectionOutcome(name: count.name, plural: count.plural)
                outcome.added = count.count
                return outcome
            })
    }
}

/// Ensures that changes which the app commits between the safety backup and the restore's transaction are saved too, or that
/// nothing is replaced.
final class CommitGuard {
    private let database: AppDatabase
    /// The file that the safety backup was made from.
    private let file: FileIdentity?
    private var watch: DatabaseWatch?
    /// Whether the restore has reached its transaction.
    private(set) var hasBegun = false

    /// Begins before the safety backup.
    init(_ database: AppDatabase) throws(BackupError) {
        self.database = database
        file = try FileSystem.identityIfPresent(database.path)
        watch = try DatabaseWatch(database)
    }

    /// A program that writes a new file and renames it over the database makes no commit that a connection could see. The path
    /// may be a link, which stays the same when its target is replaced.
    private func requireSameFile() throws(BackupError) {
        guard try FileSystem.identityIfPresent(database.path) != file else { return }
        throw Self.inUse(
            "another program replaced the database's file while the restore was about to replace its records", database)
    }

    private static func inUse(_ what: Message, _ database: AppDatabase) -> BackupError {
        BackupError(
            .databaseInUse, what, path: database.path, remedy: "Close the app, or wait, and try again. Nothing was changed.")
    }

    /// For the transaction that excludes other writers.
    /// - Parameter save: makes another safety backup; called if there was a commit since the last one.
    func saveNewCommits(by save: () throws(BackupError) -> Void) throws(BackupError) {
        hasBegun = true
        defer { end() }
        try requireSameFile()
        if let watch, try watch.hasChanged() { try save() }
    }

    /// The same while other programs can still write: call it again later.
    func saveNewCommitsSoFar(by save: () throws(BackupError) -> Void) throws(BackupError) {
        hasBegun = true
        guard let watch, try watch.hasChanged() else { return }
        watch.close()
        self.watch = try DatabaseWatch(database)
        try save()
    }

    /// Releases the database for an operation that needs exclusive access, such as leaving the write-ahead log. Commits meanwhile
    /// cannot be seen: a new watch begins, and everything is saved once more.
    func withoutConnection(
        _ body: () throws(BackupError) -> Void, savingBy save: () throws(BackupError) -> Void
    ) throws(BackupError) {
        hasBegun = true
        end()
        try body()
        watch = try DatabaseWatch(database)
        try save()
    }

    /// For the moment when no other program can read, so that nothing can be saved either.
    /// - Throws: `databaseInUse` if there was a commit since the last safety backup.
    func requireNoNewCommits() throws(BackupError) {
        defer { end() }
        try requireSameFile()
        guard let watch, try watch.hasChanged() else { return }
        throw Self.inUse("the app changed its database while the restore was about to replace it", database)
    }

    /// The connection must be closed before the transaction ends.
    func end() {
        watch?.close()
        watch = nil
    }
}
