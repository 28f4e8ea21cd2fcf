/// What a restore does with records of a database that nobody has described, when its columns have changed since.
public enum SchemaDrift: String, Sendable, CaseIterable {
    /// It refuses the file, and says what differs. `database.sqlite` brings the tables of then with it.
    case refuse
    /// Columns that the file does not have take their defaults, values whose column is gone are left out, tables that the file does not have
    /// stay as they are. Each is told as a warning.
    case adapt
}
