import BackupCore
import Glibc
import Restore
import SystemIO

/// Keeps backups and exports apart from restores, also those of another store that has the same media folder. A restore brings the records first and the media
/// after them: a backup in between would have the new records with the old media, and so would one that has read the records before. The mark in the
/// database does not tell that a restore has begun and ended meanwhile.
///
/// The operations of one store are kept apart by its own lock, which is taken before. Whoever has the media's lock waits for no store's, so that none waits
/// for the other.
extension Store {
    private static let mediaTimeoutNanoseconds: UInt64 = 10_000_000_000
    private static let mediaPauseMicroseconds: UInt32 = 20_000

    /// For a backup: keeps restores by other stores away, and lets their backups be made. Held until it is released, or the value goes.
    /// - Returns: `nil` for an app without media, and for a folder that cannot be locked.
    /// - Throws: `busy` when a restore by another store goes on, or was interrupted; `interrupted`.
    func lockMediaForBackup() throws(BackupError) -> FolderLock? {
        try lockMedia(exclusive: false, "another store is restoring into the media folder")
    }

    /// For an export of the data of now: keeps restores away, those of this store too.
    func lockMediaForExport() throws(BackupError) -> FolderLock? {
        try lockMedia(exclusive: false, "a restore into the media folder is under way")
    }

    /// For a restore: keeps exports, and backups and restores by other stores away.
    func lockMediaForRestore() throws(BackupError) -> FolderLock? {
        try lockMedia(
            exclusive: true, "another store is backing up the media folder, or restoring into it, or the folder is being exported"
        )
    }

    private func lockMedia(exclusive: Bool, _ refusal: Message) throws(BackupError) -> FolderLock? {
        let lock = try mediaPath.map { (path) throws(BackupError) in
            try LockPatience.waiting { () throws(BackupError) in try waitForMedia(path, exclusive: exclusive, refusal) }
        }
        // The one that had it may have died half way.
        try requireNoOtherRestore()
        return lock ?? nil
    }

    private func waitForMedia(_ path: String, exclusive: Bool, _ refusal: Message) throws(BackupError) -> FolderLock? {
        let end = SystemClock.monotonicNanoseconds() + Self.mediaTimeoutNanoseconds
        while true {
            do throws(BackupError) {
                return try FolderLock.take(path, exclusive: exclusive)
            } catch {
                guard error.code == .busy else { throw error }
                try FaultInjection.reached("media.waiting")
                guard SystemClock.monotonicNanoseconds() < end else {
                    throw BackupError(.busy, refusal, path: path, remedy: error.remedy)
                }
                try Cancellation.check()
                usleep(Self.mediaPauseMicroseconds)
            }
        }
    }

    /// For the end of a backup: a restore on another machine, whose lock is not seen here, may have begun meanwhile and be under way. A database that
    /// is locked or lost by now says nothing against what was read of it.
    func requireNoRestoreMeanwhile() throws(BackupError) {
        guard (try? database.restoreMarker()) ?? nil != nil else { return }
        try requireNoOtherRestore()
    }

    /// Reads the app's data as it is now, for a file that is kept: all of it is of before a restore, or of after it. One that was interrupted is finished
    /// first.
    /// - Throws: `busy` when a restore goes on for too long, or cannot be finished now; what `body` throws.
    func readingWholeData<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        try requireFinishedRestore()
        let lock = try lockMediaForExport()
        defer { lock?.release() }
        try requireNoRestoreUnderWay()
        let result = try body()
        // There are folders that cannot be locked, and restores on other machines.
        try requireNoRestoreUnderWay()
        return result
    }

    private func requireNoRestoreUnderWay() throws(BackupError) {
        guard !RestoreRecovery.isUnderWay(journalPath: paths.restoreJournal) else {
            throw BackupError(
                .busy, "a restore into the media folder is under way", path: mediaPath ?? paths.root,
                remedy: "Wait until it has finished and try again.")
        }
        try requireNoOtherRestore()
    }
}
