/// The archive formats in which all files appear as one.
public enum ArchiveFormat: Hashable, Sendable, CaseIterable {
    case tar
    case zip

    /// The archive's name, beside the files it consists of.
    public var fileName: FileName {
        switch self {
        case .tar: "archive.tar"
        case .zip: "archive.zip"
        }
    }

    public var mimeType: String {
        switch self {
        case .tar: "application/x-tar"
        case .zip: "application/zip"
        }
    }
}
