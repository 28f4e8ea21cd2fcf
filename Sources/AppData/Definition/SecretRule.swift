/// What never leaves the app's database: it is in no export and in no copy of the database, and a restore leaves it as it is.
public struct SecretRule: Sendable, Equatable {
    public let table: String
    /// The row of a table of keys and values; `nil` for all rows of the table.
    public let key: String?
}
