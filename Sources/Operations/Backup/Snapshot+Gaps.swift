import BackupRepository

extension Snapshot {
    /// The attribute of a backup's record that says how many files and folders could not be read when it was made; missing where all could.
    private static let unreadFilesAttribute = "unread-files"

    /// How many files and folders the backup lacks, because they could not be read when it was made. Its manifest names them.
    var unreadFileCount: Int { record.attributes[Self.unreadFilesAttribute].flatMap { Int($0) } ?? 0 }

    static func unreadFileAttributes(_ count: Int) -> [String: String] { count > 0 ? [unreadFilesAttribute: String(count)] : [:] }
}
