/// What a field of a collection tells that is made of the media folder.
public enum MediaValue: String, Sendable, CaseIterable {
    /// The key of the record whose file it is.
    case recordKey
    /// What the record calls its file.
    case recordPath
    /// The file's path in the archive, and its last part.
    case archivePath
    case archiveName
    /// The file's path in the media folder, and its last part.
    case path
    case name
    /// In bytes.
    case size
    /// Lower-case hexadecimal digits. Null for a file that nobody has read since it was written: the next backup does.
    case md5
    case sha256
    case modificationTime
    /// `photos/2024/06/<md5>.jpg`: a name that tells the content, and the month. Null where the MD5 is.
    case storageKey

    /// Whether the file must have been read for it.
    var isOfChecksum: Bool { self == .md5 || self == .sha256 || self == .storageKey }

    /// The type that a field with it must have.
    var types: [FieldType] {
        switch self {
        case .recordKey: [.integer, .text, .uuid]
        case .size: [.integer]
        case .modificationTime: [.date, .epochMilliseconds]
        case .recordPath, .archivePath, .archiveName, .path, .name, .md5, .sha256, .storageKey: [.text]
        }
    }

    /// Whether it is there for records of other collections only.
    var isOfRecord: Bool {
        switch self {
        case .recordKey, .recordPath, .archivePath, .archiveName: true
        case .path, .name, .size, .md5, .sha256, .modificationTime, .storageKey: false
        }
    }
}
