import BackupCore
import SystemIO

/// What a restore knows of the media files that it has moved out of their folder: renaming a file changes its change time, which shows
/// otherwise that nothing has been written to it. After a crash nothing is known, and the files are read instead.
final class MovedMedia {
    private struct ChangeTimes {
        let before: Timestamp
        let after: Timestamp
    }

    private var files: [FileIdentity: ChangeTimes] = [:]

    init() {}

    /// - Parameters:
    ///   - before: right before the file was moved.
    ///   - after: right after that.
    func note(_ before: FileStatus, _ after: FileStatus) {
        guard before.kind != .directory, FileIdentity(before) == FileIdentity(after) else { return }
        // Of two names of one file the second is moved with the change time that moving the first has made.
        files[FileIdentity(before)] = ChangeTimes(before: changeTime(before), after: after.changeTime)
    }

    /// When a file was last changed, but for being moved.
    func changeTime(_ status: FileStatus) -> Timestamp {
        guard let file = files[FileIdentity(status)], file.after == status.changeTime else { return status.changeTime }
        return file.before
    }
}
