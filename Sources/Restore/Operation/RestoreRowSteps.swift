import AppData
import BackupCore

/// The rows of a backup's own database, which a restore of the backup copies unchanged.
extension RestoreOperation {
    /// Checks the records of a file, and looks for the rows of its backup. If these can be copied, values that the app's definition does not allow are no
    /// reason to refuse the app's own data: it must be possible to undo a restore, whatever the app had written before.
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
                definition.tellsOfMedia
                ? try? withRows(ofDatabase: path, { () throws(BackupError) in try check(true) })
                : try? asTheyAre(inDatabase: path, format: format, archive: archive)
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
    private func asTheyAre(
        inDatabase path: String, format: DroppedFormat, archive: ArchiveImport?
    ) throws(BackupError) -> CheckedImport? {
        guard let (rows, source) = try BackupRows.ofAllRecords(path: path, definition: definition) else { return nil }
        let summary = try ImportValidator(definition: source.definition, limitsMetadata: false, acceptsValues: true).validate(
            source)
        return CheckedImport(
            format: format, strategy: .replace, summary: summary, records: .database(source), archive: archive, rows: rows)
    }

    var backupDatabasePath: String { "\(workPath)/backup.sqlite" }

    /// The same for an export or a database. If the repository no longer has the backup's database, the file is restored like a foreign one.
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

    /// - Returns: the rows of the backup's database; `nil` if they must not be copied, and the records of its export are restored.
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
