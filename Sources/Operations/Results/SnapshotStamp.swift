import BackupCore
import BackupRepository
import SystemIO

/// The local time in a snapshot's flat file names (`exports/`, `safety/`). Each snapshot keeps its original one, so its file name
/// stays the same whichever others are deleted.
enum SnapshotStamp {
    /// Stored among the snapshot's attributes; not shown as an extended attribute.
    static let attribute = Snapshot.stampAttribute

    /// `2026-01-11_14-30-00`, then `…_2`, `…_3` for further ones within the same second.
    static func candidates(at time: Timestamp) -> some Sequence<String> {
        let stamp = SystemClock.localStamp(time)
        return (1...10_000).lazy.map { $0 == 1 ? stamp : "\(stamp)_\($0)" }
    }

    /// The first one that no other snapshot of the kind has.
    static func unused(at time: Timestamp, _ kind: SnapshotKind, in repository: Repository) -> String {
        let taken = Set(repository.snapshots(kind: kind).map(\.stamp))
        return candidates(at: time).first { !taken.contains($0) } ?? RandomToken.make()
    }

    /// Whether a name is one that backups get by default.
    static func isStamp(_ name: FileName) -> Bool {
        let parts = name.description.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2 || (parts.count == 3 && Int(parts[2]).map { $0 > 1 } == true) else { return false }
        let shape = (parts[0] + "_" + parts[1]).map { $0.isASCII && $0.isNumber ? "0" : $0 }
        return String(shape) == "0000-00-00_00-00-00"
    }
}

extension Snapshot {
    /// The attribute in a backup's record with the number of files and folders that could not be read when it was made; absent if
    /// all could.
    private static let unreadFilesAttribute = "unread-files"

    /// How many files and folders the backup lacks because they could not be read when it was made. Its manifest names them.
    var unreadFileCount: Int { max(0, record.attributes[Self.unreadFilesAttribute].flatMap { Int($0) } ?? 0) }

    /// The message for a backup that lacks such files.
    public static func unreadFilesMessage(_ count: Int) -> Message {
        .plural(
            count, one: "the backup lacks \(count) file or folder that could not be read when it was made",
            other: "the backup lacks \(count) files or folders that could not be read when it was made")
    }

    /// The tag of automatic backups. Without the tag, it is a backup like any other.
    static let automaticTag = "automatic"

    static func unreadFileAttributes(_ count: Int) -> [String: String] { count > 0 ? [unreadFilesAttribute: String(count)] : [:] }
}
