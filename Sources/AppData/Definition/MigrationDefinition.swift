/// A step that brings the embedded database to the next version of its schema.
public struct MigrationDefinition: Sendable, Equatable {
    /// Unique and never changed: the database remembers it as done.
    public let name: String
    public let sql: String

    public init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }
}
