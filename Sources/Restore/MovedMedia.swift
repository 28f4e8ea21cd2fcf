import BackupCore
import SystemIO

/// The media files that a restore has moved out of their folder. A rename changes a file's change time, which otherwise shows that nothing was written to
/// it. After a crash this is lost, and the files are read instead.
final class MovedMedia {
    private struct ChangeTimes {
        let before: Timestamp
        let after: Timestamp
    }

    private var files: [FileIdentity: ChangeTimes] = [:]

    init() {}

    /// - Parameters:
    ///   - before: right before the move.
    ///   - after: right after the move.
    func note(_ before: FileStatus, _ after: FileStatus) {
        guard before.kind != .directory, FileIdentity(before) == FileIdentity(after) else { return }
        // If a file has two names, the second is moved with the change time that the first move set.
        files[FileIdentity(before)] = ChangeTimes(before: changeTime(before), after: after.changeTime)
    }

    /// When a file was last changed, ignoring the move.
    func changeTime(_ status: FileStatus) -> Timestamp {
        guard let file = files[FileIdentity(status)], file.after == status.changeTime else { return status.changeTime }
        return file.before
    }
}
