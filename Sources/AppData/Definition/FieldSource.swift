/// The source of a metadata or settings field's value.
public enum FieldSource: String, Sendable, CaseIterable {
    /// A column of the collection's table, or a row of the key/value table.
    case stored
    /// The time of the export; not stored.
    case creationTime
    /// The definition's schema version; a row of the key/value table repeats it for other readers of the database.
    case schemaVersion
    /// Always the definition's default; not stored.
    case constant
}
