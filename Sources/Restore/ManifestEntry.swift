import AppData
import BackupCore

/// One media file's entry in an export.
struct ManifestEntry: Sendable {
    /// The key of the record that has the file; the file's path, where each file is a record.
    let key: FieldValue
    /// "photo 3", for messages.
    let label: String
    /// The path in the record.
    let recordPath: [UInt8]
    /// The path in the archive.
    let archivePath: [UInt8]
    /// `nil` where the export does not say.
    let sizeBytes: UInt64?
    /// Lower-case hexadecimal digits; `nil` where the export does not say.
    let md5: String?
    let sha256: String?

    /// The same for a file that has another name here.
    func called(_ recordPath: [UInt8]) -> ManifestEntry {
        ManifestEntry(
            key: key, label: label, recordPath: recordPath, archivePath: archivePath, sizeBytes: sizeBytes, md5: md5,
            sha256: sha256)
    }
}
