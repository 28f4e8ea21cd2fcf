import AppData
import BackupCore
import SystemIO

/// Writes the records of a restore, also into a copy.
extension RestoreOperation {
    /// Writes the records into a database.
    /// - Parameters:
    ///   - guarding: knows whether the app has changed its records since they were saved; `nil` for a copy, which no app has open.
    ///   - save: saves them once more.
    ///   - beforeCommit: called inside the transaction, or right before it when a whole database is exchanged.
    func bringRecords(
        _ checked: CheckedImport, into database: AppDatabase, marker: RestoreMarker?, _ media: MediaPreparation,
        guarding: RecordsGuard? = nil, saving save: () throws(BackupError) -> Void = { () throws(BackupError) in },
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
        if checked.staysInRecreation {
            let outcome = newOutcome(checked)
            return try database.keepRecords(
                checked.summary.recordCounts, of: checked.definition, marker: marker,
                whenLocked: { () throws(BackupError) in try guarding?.saveWhatCame(by: save) },
                beforeCommit: { () throws(BackupError) in try beforeCommit(outcome) })
        }
        switch checked.records {
        case .wire(let source):
            try database.run(
                instructions, from: source, whenLocked: { () throws(BackupError) in try guarding?.saveWhatCame(by: save) },
                beforeCommit: beforeCommit)
        case .database(let source):
            try database.run(
                instructions, from: source, whenLocked: { () throws(BackupError) in try guarding?.saveWhatCame(by: save) },
                beforeCommit: beforeCommit)
        case .whole(let source):
            try beforeCommit(wholeOutcome(checked, database))
            try database.replaceWhole(
                by: source, stagingPath: "\(workPath)/exchange.sqlite", marker: marker,
                beforeLocking: { () throws(BackupError) in try guarding?.saveWhatCameSoFar(by: save) },
                withoutOthers: { (body) throws(BackupError) in
                    if let guarding { try guarding.withoutConnection(body, savingBy: save) } else { try body() }
                },
                whenLocked: { () throws(BackupError) in try guarding?.requireNothingNew() })
        }
    }

    /// The exact outcome of `run`: performs the same steps on a copy of the database. No copy is made if the outcome is known without one.
    public func rehearse(_ checked: CheckedImport) throws(BackupError) -> RestoreOutcome {
        let media = try mediaPreparation(checked)
        if let records = try knownOutcome(checked) { return RestoreOutcome(records: records, media: media.outcome()) }
        let path = "\(workPath)/rehearsal-\(RandomToken.make()).sqlite"
        let copy: AppDatabase
        if try !database.isLost() {
            var room = RoomCheck()
            try room.need((FileSystem.statusIfPresent(database.path)?.size ?? 0) * 3 + (1 << 20), at: workPath)
            try room.require()
            try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.copyDatabase(to: path) }
            copy = AppDatabase(at: path, definition: definition)
        } else {
            copy = try makeLost(at: path)
        }
        defer { for suffix in [""] + DatabaseLogs.suffixes { try? FileSystem.removeFile(path + suffix) } }
        var outcome: RestoreOutcome?
        try bringRecords(checked, into: copy, marker: nil, media) { (records) throws(BackupError) in
            outcome = RestoreOutcome(records: records, media: media.outcome())
        }
        guard let outcome else { throw BackupError(.inputOutput, "the rehearsal gave no result", path: path) }
        return outcome
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
