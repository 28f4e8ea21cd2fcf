/// The forms in which all files are shown as one.
public enum ArchiveFormat: Hashable, Sendable, CaseIterable {
    case tar
    case zip

    /// What the archive is called, beside the files it is made of.
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
