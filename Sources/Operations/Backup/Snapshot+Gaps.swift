import BackupCore
import BackupRepository

extension Snapshot {
    /// The attribute in a backup's record with the number of files and folders that could not be read when it was made; absent if all could.
    private static let unreadFilesAttribute = "unread-files"

    /// How many files and folders the backup lacks because they could not be read when it was made. Its manifest names them.
    var unreadFileCount: Int { max(0, record.attributes[Self.unreadFilesAttribute].flatMap { Int($0) } ?? 0) }

    /// The message for a backup that lacks such files.
    public static func unreadFilesMessage(_ count: Int) -> Message {
        .plural(
            count, one: "the backup lacks \(count) file or folder that could not be read when it was made",
            other: "the backup lacks \(count) files or folders that could not be read when it was made")
    }

    static func unreadFileAttributes(_ count: Int) -> [String: String] { count > 0 ? [unreadFilesAttribute: String(count)] : [:] }
}
