import AppData
import BackupCore
import Formats
import Glibc
import SystemIO

/// Checks a submitted file, before anything is changed.
extension RestoreOperation {
    /// Fully checks a file, and changes nothing.
    /// - Throws: errors of the file: `invalidContent`, `damagedContent`, `unsupportedVersion`, `tooLarge`; `notSupported` when
    ///   the app's database holds data that no restore could bring back, or has a different schema than the file.
    public func check(
        _ source: ImportSource, strategy: ImportStrategy = .replace
    ) throws(BackupError) -> CheckedImport {
        // A lost database is empty.
        let hasDatabase = try !database.isLost()
        if source.recordFile != nil {
            guard strategy != .replace else {
                throw BackupError(.notSupported, "Import failed: single records cannot replace all data", path: source.name)
            }
        }
        if !hasDatabase, source.recordFile != nil {
            throw BackupError(
                .notSupported, "Import failed: the app's database is missing or empty, and the file has only single records",
                path: source.name, remedy: "Restore a backup first.")
        }
        let warning = hasDatabase ? try database.triggerWarning() : nil
        var checked = try checkContent(source, strategy)
        try requireKnownSchema(checked, source)
        if hasDatabase, strategy == .replace { try database.requireReplaceable(copiesRows: checked.rows != nil) }
        if !hasDatabase, strategy == .replace, let recreation {
            checked.staysInRecreation = try keepsRecords(of: recreation, checked)
        }
        checked.databaseWarnings += [warning, source.warning].compactMap(\.self)
        checked.unreadFileCount = source.unreadFileCount
        if strategy == .replace { checked.storedMedia = source.storedMedia }
        if hasDatabase, strategy != .replace { try database.requireSameFormat(as: checked.definition) }
        return checked
    }

    /// - Throws: `unsupportedVersion` for a file with a newer version, if the store's settings say so. Its own backups are its
    ///   own data.
    private func requireKnownSchema(_ checked: CheckedImport, _ source: ImportSource) throws(BackupError) {
        guard refusesNewerSchema, source.origin == .foreign, !definition.coversWholeDatabase,
            checked.summary.schemaVersion > checked.definition.newestSchemaVersion
        else { return }
        throw BackupError(
            .unsupportedVersion, ImportMessages.newerVersion, path: source.name,
            remedy: "Use a newer backupfs, or try it all the same: backupfs config set refuse-newer-schema no")
    }

    private func checkContent(
        _ source: ImportSource, _ strategy: ImportStrategy
    ) throws(BackupError) -> CheckedImport {
        let format = try DroppedFormat.detect(source.bytes)
        if let file = source.recordFile { return try check(file, source, format: format, strategy) }
        let knowsBackup = strategy == .replace && !definition.coversWholeDatabase
        switch format {
        case .json:
            return try copyingRows(ofBackupOf: knowsBackup ? source : nil, format: format) {
                (acceptsValues) throws(BackupError) in
                try check(json: source.bytes, source, format: format, strategy, archive: nil, acceptsValues: acceptsValues)
            }
        case .sqlite:
            let path = try source.database(in: workPath)
            // With the content of its log it is no longer the backup's database.
            let isAlone = source.filePath == nil || path == source.filePath
            return try copyingRows(ofBackupOf: knowsBackup && isAlone ? source : nil, format: format) {
                (_) throws(BackupError) in
                try check(database: path, source, format: format, strategy, archive: nil)
            }
        case .zip, .tar:
            let freeSpaceBytes = try FileSystem.space(at: workPath).availableBytes
            var archive = try ArchiveImport(
                source, format, definition: definition, amongMedia: databaseAmongMedia(), freeSpaceBytes: freeSpaceBytes,
                allowsDamage: allowsDamage)
            let recordsPath = "\(workPath)/records"
            let isBackup = knowsBackup && source.archiveLayout != nil
            try archive.check(writingRecordsTo: recordsPath, databaseTo: isBackup ? backupDatabasePath : nil)
            let databasePath = isBackup ? try backupDatabasePath(of: source, &archive, recordsPath: recordsPath) : nil
            return try copyingRows(ofDatabase: databasePath, format: format, archive: archive) {
                (acceptsValues) throws(BackupError) in
                archive.hasDatabase
                    ? try check(database: recordsPath, source, format: format, strategy, archive: archive)
                    : try check(
                        json: SharedFile(path: recordsPath), source, format: format, strategy, archive: archive,
                        acceptsValues: acceptsValues)
            }
        }
    }

    /// Records of one collection. Those to which they refer are looked for when they are written.
    private func check(
        _ file: RecordFile, _ source: ImportSource, format: DroppedFormat, _ strategy: ImportStrategy
    ) throws(BackupError) -> CheckedImport {
        func refusal(_ what: Message, remedy: Message? = nil) -> BackupError {
            BackupError(.invalidContent, ImportMessages.failure(what), path: source.name, remedy: remedy, findings: [what])
        }
        guard !definition.coversWholeDatabase else {
            throw BackupError(
                .notSupported, "Import failed: single records cannot be restored into a database without an app definition",
                path: source.name,
                remedy: "Describe the app's records in a definition, or take rows from database.sqlite of a backup.")
        }
        if let app = file.app, app != definition.name {
            throw refusal("the records are of the app \(MessageText.shortened(app)), and not of \(definition.name)")
        }
        guard file.inexactValueCount == 0 else {
            throw refusal(
                "the backup that the records are of has values that its export cannot hold as they are",
                remedy: """
                    Restore that backup, or look at its database.sqlite. If these records have no such value, remove \
                    inexactValues from a copy of the file, and restore the copy.
                    """)
        }
        let version = if let known = file.schemaVersion { known } else { try database.currentFormat().schemaVersion }
        guard version >= definition.minimumSchemaVersion else {
            throw BackupError(.unsupportedVersion, ImportMessages.incompatibleVersion, path: source.name)
        }
        var records = definition.format(ofVersion: version)
        let present = try database.currentFormat()
        // Other collections may differ.
        if records.hasSameForm(of: file.collection, as: present) { records = present }
        records = records.identifiedByKeys
        guard let collection = records.collections.first(where: { $0.name.utf8.elementsEqual(file.collection.utf8) }) else {
            throw refusal("\(definition.title) has no records called \(MessageText.shortened(file.collection))")
        }
        guard collection.source == .table else {
            throw refusal(
                "the \(collection.plural) say which media files there are, and are not restored alone",
                remedy: "Restore a whole backup, or copy files into the media folder.")
        }
        let reader = WireReader(file.export(of: source.bytes), definition: records)
        let summary = try ImportValidator(
            definition: records, limitsMetadata: false, acceptsValues: source.origin == .ownRepository, partVersion: version
        ).validate(reader)
        var checked = CheckedImport(
            format: format, strategy: strategy, summary: summary, records: .wire(RelocatedRecords(source: reader)), archive: nil)
        checked.isPart = true
        return checked
    }

    /// A database without a definition is restored whole, with its tables; otherwise only its records are.
    private func check(
        database path: String, _ dropped: ImportSource, format: DroppedFormat, _ strategy: ImportStrategy,
        archive: ArchiveImport?
    ) throws(BackupError) -> CheckedImport {
        try requireTables(dropped.name)
        let source = try DroppedDatabase(
            path: path, definition: definition, needsVersion: dropped.origin == .foreign)
        var summary = try ImportValidator(
            definition: source.definition, limitsMetadata: dropped.origin == .foreign
        ).validate(source)
        // The validation used the current time.
        summary.createdAt = dropped.backupTime
        if definition.coversWholeDatabase { try database.requireSameApplication(as: source) }
        return CheckedImport(
            format: format, strategy: strategy, summary: summary,
            records: definition.coversWholeDatabase ? .whole(source) : .database(source),
            archive: archive)
    }

    /// - Parameter acceptsValues: whether values that the definition does not allow are only a warning.
    private func check(
        json bytes: any ByteSource, _ dropped: ImportSource, format: DroppedFormat, _ strategy: ImportStrategy,
        archive: ArchiveImport?, acceptsValues: Bool = false
    ) throws(BackupError) -> CheckedImport {
        if definition.coversWholeDatabase, try !database.exists() {
            throw BackupError(
                .notSupported,
                "Import failed: the app's database does not exist, and an export does not describe its tables",
                path: dropped.name, remedy: "Restore the backup's database.sqlite, or its archive.zip.")
        }
        try database.requireKnownCollations()
        // Without a definition, the database says which tables there are.
        let known = definition.coversWholeDatabase ? try database.currentFormat() : definition
        let wire: WireImport
        do throws(BackupError) {
            wire = try WireImport(
                bytes, definition: known, limitsMetadata: dropped.origin == .foreign, acceptsValues: acceptsValues)
        } catch {
            throw addingFaultsOfFiles(archive, bytes, known, to: error)
        }
        guard var archive, definition.describesMedia else {
            try requireTables(dropped.name)
            return CheckedImport(
                format: format, strategy: strategy, summary: wire.summary, records: .wire(RelocatedRecords(source: wire.reader)),
                archive: archive)
        }
        let manifest = ManifestVisitor(wire.reader.definition)
        try wire.reader.visit(with: manifest)
        let placed = try archive.place(
            manifest.entries, isComplete: manifest.listsAllFiles, pointer: MediaPointer(wire.reader.definition))
        return CheckedImport(
            format: format, strategy: strategy, summary: wire.summary,
            records: .wire(RelocatedRecords(source: wire.reader, paths: placed.recordPaths)), archive: archive,
            mediaWarnings: placed.warnings)
    }

    /// When an archive's records are refused, also reports what is wrong with its files, so that the user sees everything in one
    /// report.
    private func addingFaultsOfFiles(
        _ archive: ArchiveImport?, _ bytes: any ByteSource, _ known: AppDefinition, to error: BackupError
    ) -> BackupError {
        guard error.code == .invalidContent, var archive, known.describesMedia else { return error }
        let reader = WireImport.reader(of: bytes, definition: known)
        let manifest = ManifestVisitor(reader.definition)
        do throws(BackupError) {
            try reader.visit(with: manifest)
            _ = try archive.place(
                manifest.entries, isComplete: manifest.listsAllFiles, pointer: MediaPointer(reader.definition))
            return error
        } catch let fault {
            guard fault.code == .damagedContent else { return error }
            // The message is the first finding, which the list of findings need not contain.
            let findings = error.findings.isEmpty ? [error.message] : error.findings
            return error.with(findings: Array((findings + fault.findings).prefix(ImportValidator.findingLimit)))
        }
    }

    /// - Throws: `invalidContent` for a file without media when the app has nothing else.
    private func requireTables(_ name: String) throws(BackupError) {
        guard !definition.hasTables else { return }
        throw BackupError(
            .invalidContent, "Import failed: the file holds no media, and \(definition.title) has nothing else", path: name,
            remedy: "Restore an archive: archive.zip of a backup.")
    }

    // MARK: A lost database, which is created again before the records are restored

    /// Checks the recreated database like an existing one.
    /// - Returns: whether its records stay unchanged: they already equal the file's, and could not be replaced without losing
    ///   data that only the database has.
    /// - Throws: like `AppDatabase.requireReplaceable`, when the records must be changed anyway.
    func keepsRecords(of recreation: String, _ checked: CheckedImport) throws(BackupError) -> Bool {
        let made = AppDatabase(at: recreation, definition: definition)
        do throws(BackupError) {
            _ = try made.triggerWarning()
            try made.requireReplaceable(copiesRows: checked.rows != nil)
            return false
        } catch {
            // Records whose files are now at other paths are not the backup's.
            guard error.code == .notSupported, !checked.movesFiles else {
                throw error.with(path: database.path)
            }
            return true
        }
    }
}

/// The rows of a backup's own database, which a restore of the backup copies unchanged.
extension RestoreOperation {
    /// Checks the records of a file, and looks for the rows of its backup. If these can be copied, values that the app's
    /// definition does not allow are no reason to refuse the app's own data: it must be possible to undo a restore, whatever the
    /// app had written before.
    /// - Parameters:
    ///   - path: the backup's database; `nil` when the file is from no backup.
    ///   - check: checks the records; the argument says whether values that the definition does not allow are only a warning.
    func copyingRows(
        ofDatabase path: String?, format: DroppedFormat, archive: ArchiveImport?,
        _ check: (_ acceptsValues: Bool) throws(BackupError) -> CheckedImport
    ) throws(BackupError) -> CheckedImport {
        guard let path else { return try check(false) }
        do throws(BackupError) {
            var checked = try check(false)
            do throws(BackupError) {
                checked.rows = try rows(of: checked, inDatabase: path)
            } catch {
                guard error.code == .damagedContent else { throw error }
                checked.databaseWarnings.append(
                    "the database of the backup is damaged: what only it holds is not restored")
            }
            return checked
        } catch {
            guard error.code == .invalidContent else { throw error }
            // Only an export says which file belongs to which record.
            let checked =
                definition.describesMedia
                ? try? withRows(ofDatabase: path, { () throws(BackupError) in try check(true) })
                : try? recordsAsStored(inDatabase: path, format: format, archive: archive)
            guard let checked else { throw error }
            return checked
        }
    }

    /// - Parameter check: accepts all values.
    /// - Returns: `nil` when a table's rows cannot be copied: its records would have to be valid.
    private func withRows(
        ofDatabase path: String, _ check: () throws(BackupError) -> CheckedImport
    ) throws(BackupError) -> CheckedImport? {
        guard try BackupRows.ofAllRecords(path: path, definition: definition) != nil else { return nil }
        var checked = try check()
        checked.rows = try rows(of: checked, inDatabase: path, replacesKept: true)
        return checked.rows == nil ? nil : checked
    }

    /// - Returns: `nil` when a table's rows cannot be copied.
    private func recordsAsStored(
        inDatabase path: String, format: DroppedFormat, archive: ArchiveImport?
    ) throws(BackupError) -> CheckedImport? {
        guard let (rows, source) = try BackupRows.ofAllRecords(path: path, definition: definition) else { return nil }
        let summary = try ImportValidator(definition: source.definition, limitsMetadata: false, acceptsValues: true).validate(
            source)
        return CheckedImport(
            format: format, strategy: .replace, summary: summary, records: .database(source), archive: archive, rows: rows)
    }

    var backupDatabasePath: String { "\(workPath)/backup.sqlite" }

    /// The same for an export or a database. If the repository no longer has the backup's database, the file is restored like a
    /// foreign one.
    /// - Parameter source: `nil` when it is known to be from no backup.
    func copyingRows(
        ofBackupOf source: ImportSource?, format: DroppedFormat,
        _ check: (_ acceptsValues: Bool) throws(BackupError) -> CheckedImport
    ) throws(BackupError) -> CheckedImport {
        guard let database = source?.backupDatabase else { return try check(false) }
        do throws(BackupError) {
            guard try database.write(to: backupDatabasePath) else { return try check(false) }
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            var checked = try check(false)
            checked.databaseWarnings.append(
                "the database of the backup that the file is of is damaged in the repository: what the file does not have of it is not restored"
            )
            return checked
        }
        return try copyingRows(ofDatabase: backupDatabasePath, format: format, archive: nil, check)
    }

    /// The path of the database of the checked archive's backup: from the archive, or else from the repository.
    /// - Returns: `nil` where there is none, or it is damaged and was left out.
    func backupDatabasePath(
        of source: ImportSource, _ archive: inout ArchiveImport, recordsPath: String
    ) throws(BackupError) -> String? {
        if archive.hasBackupDatabase {
            if archive.isBackupDatabaseDamaged { return nil }
            return archive.hasDatabase ? recordsPath : backupDatabasePath
        }
        do throws(BackupError) {
            return try source.backupDatabase?.write(to: backupDatabasePath) == true ? backupDatabasePath : nil
        } catch {
            try archive.leaveOutDatabase(error)
            return nil
        }
    }

    /// - Returns: the rows of the backup's database; `nil` if they must not be copied, and the records of its export are
    ///   restored.
    private func rows(
        of checked: CheckedImport, inDatabase path: String, replacesKept: Bool = false
    ) throws(BackupError) -> BackupRows? {
        let format = checked.definition
        var rows = try BackupRows(path: path, definition: definition, format: format, replacesKept: replacesKept)
        if case .wire(let records) = checked.records, !records.paths.isEmpty, let pointer = MediaPointer(format) {
            rows?.rewritten.append(BackupRows.RewrittenColumn(pointer, format))
        }
        return rows
    }
}

/// Required space, summed up for each file system: files on the same disk need space together.
public struct DiskSpaceRequirement: Sendable {
    private var needs: [UInt64: (path: String, bytes: UInt64)] = [:]

    public init() {}

    /// - Parameter path: an existing folder or file
    public mutating func need(_ bytes: UInt64, at path: String) throws(BackupError) {
        // The disk of a link's target is the one that fills up.
        guard let device = try FileSystem.look(path)?.device else {
            throw SystemCall.error(ENOENT, action: "read the attributes", path: path)
        }
        let known = needs[device]
        let (sum, isOverflowing) = (known?.bytes ?? 0).addingReportingOverflow(bytes)
        needs[device] = (known?.path ?? path, isOverflowing ? .max : sum)
    }

    /// - Parameters:
    ///   - purpose: what needs the space, with its article.
    ///   - remedy: what to do
    /// - Throws: `noSpace` naming the folder.
    public func require(_ purpose: Message, remedy: Message) throws(BackupError) {
        for need in needs.values {
            let available = try FileSystem.space(at: need.path).availableBytes
            guard available >= need.bytes else {
                throw BackupError(
                    .noSpace, "\(purpose) needs \(need.bytes) bytes, and \(available) are free", path: need.path, remedy: remedy)
            }
        }
    }

    /// - Throws: `noSpace` naming the folder.
    public func require() throws(BackupError) {
        for need in needs.values {
            let available = try FileSystem.space(at: need.path).availableBytes
            guard available >= need.bytes else {
                throw BackupError(
                    .noSpace,
                    "the restore and the safety backup before it need \(need.bytes) bytes, and there are \(available)",
                    path: need.path, remedy: "Free some space and try again; nothing was changed.")
            }
        }
    }
}
