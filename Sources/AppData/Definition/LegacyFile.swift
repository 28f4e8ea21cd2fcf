/// A file in which the app kept its data before it had a database.
public struct LegacyFile: Sendable, Equatable {
    /// Its name in the migrated folder.
    public let name: String
    /// The export member that it contains: a collection's name, or that of the settings.
    public let member: String
}
