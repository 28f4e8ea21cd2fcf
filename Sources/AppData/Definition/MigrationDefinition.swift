/// A migration of the embedded database to the next version of its schema.
public struct MigrationDefinition: Sendable, Equatable {
    /// Unique and never changed: the database records it when done.
    public let name: String
    public let sql: String

    public init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }
}
