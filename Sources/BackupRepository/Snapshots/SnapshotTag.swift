import BackupCore

/// Validates tags: a tag is a word that can be part of a comma-separated list and of an extended attribute.
public enum SnapshotTag {
    /// The maximum number of tags of a snapshot.
    public static let countLimit = 64
    /// In bytes.
    public static let lengthLimit = 255

    /// - Throws: `invalidArgument` for an invalid tag.
    public static func check(_ tag: String) throws(BackupError) {
        let isClean = !tag.utf8.contains { $0 < 32 || $0 == 127 || $0 == UInt8(ascii: ",") }
        guard !tag.isEmpty, tag.utf8.count <= lengthLimit, isClean else {
            throw BackupError(
                .invalidArgument, "this cannot be a tag", path: tag,
                remedy: "A tag is 1 to \(lengthLimit) bytes without commas and control characters.")
        }
    }
}
