import BackupCore

/// Records that can be visited repeatedly: an export file, a database.
///
/// The order of collections is that of the source; every visit gives the same records. Values are normalised (dates to UTC), but not validated:
/// `ImportValidator` does that.
public protocol RecordSource {
    var definition: AppDefinition { get }

    /// Visits everything once, in bounded memory.
    /// - Throws: `invalidContent` with "Invalid file format. …" for an unreadable source, `damagedContent`, `inputOutput`, and any error of the visitor.
    func visit(with visitor: any RecordVisitor) throws(BackupError)
}
