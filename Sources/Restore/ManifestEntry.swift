import AppData
import BackupCore

/// What an export says of one of its media files.
struct ManifestEntry: Sendable {
    /// The key of the record that has the file; the file's path, where each file is a record.
    let key: FieldValue
    /// "photo 3", for messages.
    let label: String
    /// What the record calls it.
    let recordPath: [UInt8]
    /// Where it lies in the archive.
    let archivePath: [UInt8]
    /// `nil` where the export does not say.
    let sizeBytes: UInt64?
    /// Lower-case hexadecimal digits; `nil` where the export does not say.
    let md5: String?
    let sha256: String?

    /// The same of a file that has another name here.
    func called(_ recordPath: [UInt8]) -> ManifestEntry {
        ManifestEntry(
            key: key, label: label, recordPath: recordPath, archivePath: archivePath, sizeBytes: sizeBytes, md5: md5,
            sha256: sha256)
    }
}
