/// Where the records of a collection are.
public enum CollectionSource: String, Sendable, CaseIterable {
    /// In a table of the database.
    case table
    /// Nowhere: they are told of the media folder, one for each record of another collection that has a file there. A restore reads them to
    /// find the files, and to check them.
    case manifest
    /// Nowhere: each file of the media folder is one.
    case files
}
