/// The app's folder of photos or attachments.
public struct MediaDefinition: Sendable, Equatable {
    /// The folder's path relative to the database's folder.
    public let folder: String

    public init(folder: String) { self.folder = folder }
}
