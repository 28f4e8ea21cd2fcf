/// A file in which the app kept its data before it had a database.
public struct LegacyFile: Sendable, Equatable {
    /// Its name in the folder that is migrated.
    public let name: String
    /// The member of the export that its content is: a collection's name, or that of the settings.
    public let member: String
}
