/// The values from the media folder that a collection's field can have.
public enum MediaValue: String, Sendable, CaseIterable {
    /// The key of the record that has the file.
    case recordKey
    /// The record's name for its file.
    case recordPath
    /// The file's path in the archive, and its last component.
    case archivePath
    case archiveName
    /// The file's path in the media folder, and its last component.
    case path
    case name
    /// In bytes.
    case size
    /// Lower-case hexadecimal digits. Null for a file that has not been read since it was written: the next backup reads it.
    case md5
    case sha256
    case modificationTime
    /// `photos/2024/06/<md5>.jpg`: a name from the content and the month. Null when the MD5 is.
    case storageKey

    /// Whether the file must have been read to compute it.
    var isOfChecksum: Bool { self == .md5 || self == .sha256 || self == .storageKey }

    /// The allowed types of a field with this value.
    var types: [FieldType] {
        switch self {
        case .recordKey: [.integer, .text, .uuid]
        case .size: [.integer]
        case .modificationTime: [.date, .epochMilliseconds]
        case .recordPath, .archivePath, .archiveName, .path, .name, .md5, .sha256, .storageKey: [.text]
        }
    }

    /// Whether it exists only for records of other collections.
    var isOfRecord: Bool {
        switch self {
        case .recordKey, .recordPath, .archivePath, .archiveName: true
        case .path, .name, .size, .md5, .sha256, .modificationTime, .storageKey: false
        }
    }
}
