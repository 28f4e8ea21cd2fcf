import BackupCore
import Glibc
import Restore
import SystemIO

/// Keeps backups and exports apart from restores, including those of another store with the same media folder. A restore writes
/// the records first and the media after them: a backup in between would combine the new records with the old media, and so would
/// one that read the records before. The mark in the database does not show a restore that both began and ended meanwhile.
///
/// The operations of one store exclude each other through the store's own lock, which is taken first. A holder of the media lock
/// waits for no store lock, so there is no deadlock.
extension Store {
    private static let mediaTimeoutNanoseconds: UInt64 = 10_000_000_000
    private static let mediaPauseMicroseconds: UInt32 = 20_000

    /// For a backup: excludes restores by other stores, but not their backups. Held until it is released, or the value is
    /// destroyed.
    /// - Returns: `nil` for an app without media, and for a folder that cannot be locked.
    /// - Throws: `busy` when a restore by another store is running or was interrupted; `interrupted`.
    func lockMediaForBackup() throws(BackupError) -> FolderLock? {
        try lockMedia(exclusive: false, "another store is restoring into the media folder")
    }

    /// For an export of the current data: excludes restores, including this store's.
    func lockMediaForExport() throws(BackupError) -> FolderLock? {
        try lockMedia(exclusive: false, "a restore into the media folder is under way")
    }

    /// For a restore: excludes exports, and backups and restores by other stores.
    func lockMediaForRestore() throws(BackupError) -> FolderLock? {
        try lockMedia(
            exclusive: true, "another store is backing up the media folder, or restoring into it, or the folder is being exported"
        )
    }

    private func lockMedia(exclusive: Bool, _ refusal: Message) throws(BackupError) -> FolderLock? {
        let lock = try mediaPath.map { (path) throws(BackupError) in
            try LockTimeout.waiting { () throws(BackupError) in try waitForMedia(path, exclusive: exclusive, refusal) }
        }
        // The previous holder may have died partway.
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
                    throw error.with(.busy, refusal, path: path)
                }
                try Cancellation.check()
                usleep(Self.mediaPauseMicroseconds)
            }
        }
    }

    /// For the end of a backup: a restore on another machine, whose lock is not visible here, may have begun meanwhile and be
    /// running. A database that is locked or lost by now does not invalidate what was read from it.
    func requireNoRestoreMeanwhile() throws(BackupError) {
        guard (try? database.restoreMarker()) ?? nil != nil else { return }
        try requireNoOtherRestore()
    }

    /// Reads the app's current data for a file that is kept: all of it is from before a restore, or from after it. Finishes an
    /// interrupted restore first.
    /// - Throws: `busy` when a restore runs for too long, or cannot be finished now; the errors of `body`.
    func readingWholeData<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        try requireFinishedRestore()
        let lock = try lockMediaForExport()
        defer { lock?.release() }
        try requireNoRestoreUnderWay()
        let result = try body()
        // Some folders cannot be locked, and restores may run on other machines.
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
