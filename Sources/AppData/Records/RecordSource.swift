import BackupCore

/// Records that can be gone through as often as wanted: an export file, a database.
///
/// The order of collections is the source's own; every visit gives the same. Values are normalised (dates to UTC), not checked:
/// that is `ImportValidator`'s work.
public protocol RecordSource {
    var definition: AppDefinition { get }

    /// Goes through all there is, once, in bounded memory.
    /// - Throws: `invalidContent` with "Invalid file format. …" for what cannot be read at all, `damagedContent`, `inputOutput`,
    ///   and whatever the visitor throws.
    func visit(with visitor: any RecordVisitor) throws(BackupError)
}
