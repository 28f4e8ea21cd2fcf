import BackupCore

/// What may be a tag: a word that can stand in a list with commas and in an extended attribute.
public enum SnapshotTag {
    /// So many one snapshot has at most.
    public static let countLimit = 64
    /// In bytes.
    public static let lengthLimit = 255

    /// - Throws: `invalidArgument` for what cannot be a tag.
    public static func check(_ tag: String) throws(BackupError) {
        let isClean = !tag.utf8.contains { $0 < 32 || $0 == 127 || $0 == UInt8(ascii: ",") }
        guard !tag.isEmpty, tag.utf8.count <= lengthLimit, isClean else {
            throw BackupError(
                .invalidArgument, "this cannot be a tag", path: tag,
                remedy: "A tag is 1 to \(lengthLimit) bytes without commas and control characters.")
        }
    }
}
