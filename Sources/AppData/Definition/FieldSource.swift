/// Where a field of the metadata or settings object has its value from.
public enum FieldSource: String, Sendable, CaseIterable {
    /// A column of the collection's table, or a row of the key/value table.
    case stored
    /// The moment for which the export is made; not stored.
    case creationTime
    /// The definition's schema version; a row of the key/value table repeats it for whoever opens the database.
    case schemaVersion
    /// The definition's default, always; not stored.
    case constant
}
