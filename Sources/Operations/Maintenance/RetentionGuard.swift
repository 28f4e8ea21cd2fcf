import BackupCore
import BackupRepository
import SystemIO

/// When a rule must not remove anything after a backup: because the clock cannot be believed, or because the backup that was just made may be worse
/// than those that would go.
struct RetentionGuard {
    /// A clock may be set back by hand or between two machines; more than this is wrong.
    private static let behindSeconds: Int64 = 86_400
    private static let aheadSeconds: Int64 = 31 * 86_400

    let store: Store

    private func before(_ made: Snapshot) -> Snapshot? {
        store.ownSnapshots(kind: .snapshot).last { $0.id != made.id }
    }

    /// - Returns: why the clock cannot be believed; `nil` when it can.
    func clockProblem(after made: Snapshot, now: Timestamp) -> Message? {
        guard let earlier = before(made) else { return nil }
        let seconds = now.seconds.subtractingSaturated(earlier.creationTime.seconds)
        let time = SystemClock.localTime(earlier.creationTime)
        if seconds < -Self.behindSeconds {
            return "the clock is behind the backup before, of \(time), so no old backups were removed. Is the clock right?"
        }
        if seconds > Self.aheadSeconds {
            return
                "the backup before is of \(time), more than a month ago, so no old backups were removed this time. Is the clock right?"
        }
        return nil
    }

    /// - Returns: why the backup may be worse than those that would go; `nil` when it is not.
    func contentProblem(of result: BackupResult) -> Message? {
        guard result.unreadable.isEmpty else {
            return "some files could not be read, so no old backups were removed"
        }
        let made = result.snapshot
        guard let earlier = before(made) else { return nil }
        if Self.isMuchSmaller(made, than: earlier) || hasLostMedia(made, since: earlier) {
            return
                "this backup holds much less than the one before, \(earlier.name), so no old backups were removed. Is all data there?"
        }
        let key = Snapshot.mediaFileSystemAttribute
        if let before = earlier.record.attributes[key], let now = made.record.attributes[key], before != now {
            return
                "the media folder is on another file system than at the backup before, so no old backups were removed this time. Is its disk mounted?"
        }
        return nil
    }

    /// Less than half of the records or of the files.
    static func isMuchSmaller(_ snapshot: Snapshot, than other: Snapshot) -> Bool {
        let records = (records(of: snapshot), records(of: other))
        let files = (snapshot.record.root.totals.fileCount, other.record.root.totals.fileCount)
        return records.0 < records.1 / 2 + records.1 % 2 || files.0 < files.1 / 2
    }

    private static func records(of snapshot: Snapshot) -> UInt64 {
        snapshot.record.attributes["records"].flatMap { UInt64($0) } ?? 0
    }

    /// Whether the media folder was not empty, and has less than half of its files now.
    private func hasLostMedia(_ made: Snapshot, since earlier: Snapshot) -> Bool {
        let before = mediaFileCount(earlier)
        return mediaFileCount(made) < before / 2 + before % 2
    }

    /// Folders that cannot be read count as empty: then the backup that was just made is no worse.
    private func mediaFileCount(_ snapshot: Snapshot) -> UInt64 {
        let root = try? store.repository.rootDirectory(of: snapshot)
        return root?.entry(named: "media")?.storedDirectory?.totals.fileCount ?? 0
    }
}
