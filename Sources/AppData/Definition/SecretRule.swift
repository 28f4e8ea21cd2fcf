/// A value that never leaves the app's database: it is in no export and in no copy of the database, and a restore does not change it.
public struct SecretRule: Sendable, Equatable {
    public let table: String
    /// The row of a key/value table; `nil` for all rows of the table.
    public let key: String?
}
