import BackupCore
import SQLite

/// Which apps and which databases can exchange records between devices.
enum ExchangeRules {
    /// - Throws: `notSupported`.
    static func requireExchangeable(_ app: AppDefinition) throws(BackupError) {
        guard let reason = reason(against: app) else { return }
        throw BackupError(
            .notSupported, "the records of \(app.title) cannot be exchanged between devices: \(reason)",
            remedy: "Use a copy of the backups in a remote instead.")
    }

    private static func reason(against app: AppDefinition) -> Message? {
        guard !app.coversWholeDatabase else { return "its records have no definition" }
        guard app.media == nil, !app.describesMedia else { return "its files would be missing" }
        guard app.hasTables else { return "it has no records" }
        for collection in app.formats.flatMap(\.collections) {
            guard collection.keyField.keyColumns.isEmpty, [.uuid, .text].contains(collection.keyField.type) else {
                // Two devices give the same number to two records.
                return "the \(collection.plural) have no UUID, and numbers are given twice"
            }
            guard collection.rules.identity == [collection.keyIndex], collection.rules.onMerge == .update else {
                return "the \(collection.plural) are merged by another rule than their key"
            }
            guard collection.fields.allSatisfy({ $0.reference?.mayDangle != false }) else {
                return "the \(collection.plural) refer to records that may not be missing"
            }
        }
        return nil
    }

    /// - Throws: `invalidContent` for a database without the app's tables; `unsupportedVersion` for one of another version;
    ///   `busy` while a restore is not finished; `notSupported`.
    static func requireUsable(_ schema: DatabaseSchema, _ app: AppDefinition) throws(BackupError) {
        let path = schema.path
        let format = try app.format(ofDatabase: schema.connection)
        if let missing = DatabaseSchemaCheck(schema: schema, definition: format).firstProblem() {
            throw BackupError(
                .invalidContent, "the database is not one of \(app.title): \(missing)", path: path,
                remedy: "Nothing is exchanged with other devices until it is.")
        }
        let reader = DatabaseRecordReader(connection: schema.connection, definition: format)
        if let version = try reader.storedVersion(),
            !(app.minimumSchemaVersion...max(app.minimumSchemaVersion, app.newestSchemaVersion)).contains(version)
        {
            throw BackupError(
                .unsupportedVersion, "the database has version \(version) of the app's data, which the definition does not know",
                path: path, remedy: "Nothing is exchanged with other devices until the definition is updated.")
        }
        try RestoreMarker.read(schema.connection)?.requireFinished(ownJournalPath: nil, path: path)
        let check = DatabaseSchemaCheck(schema: schema, definition: app)
        if let effects = try check.triggerEffects(), let trigger = effects.suspended.first {
            throw BackupError(
                .notSupported,
                "the trigger \(MessageText.shortened(trigger.name)) changes records, so those of other devices would not stay as they are",
                path: path)
        }
        if let data = try check.unexportedData() { throw data.exchangeRefusal(path: path) }
    }
}
