/// The source of a collection's records.
public enum CollectionSource: String, Sendable, CaseIterable {
    /// A table of the database.
    case table
    /// Generated from the media folder, one for each record of another collection that has a file there. A restore reads them to find the files, and to
    /// check them.
    case manifest
    /// Generated: one for each file of the media folder.
    case files
}
