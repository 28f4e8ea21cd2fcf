/// What a restore does with records of a database without a definition if its columns have changed since.
public enum SchemaDrift: String, Sendable, CaseIterable {
    /// Refuses the file, and reports the differences. `database.sqlite` contains its own tables.
    case refuse
    /// Columns missing from the file get their defaults, values without a column are dropped, and tables missing from the file stay unchanged. Each
    /// difference is reported as a warning.
    case adapt
}
