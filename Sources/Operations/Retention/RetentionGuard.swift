import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Detects suspected problems after a backup: an implausible clock, or a backup that may be worse than those before it. Each
/// backup reports them, and no rule removes anything then.
struct RetentionGuard {
    /// A clock may be set back by hand or differ between two machines; more than this is wrong.
    static let behindSeconds: Int64 = 86_400
    /// A longer time without a backup may be a clock that jumped ahead.
    static let aheadSeconds: Int64 = 31 * 86_400

    let store: Store
    /// The copy of the repository in a remote, with backups that the repository may lack.
    var copy: Repository?

    /// A suspected problem of the newest backup that is here, because of which the rules of a remote must not remove anything;
    /// `nil` if there is none.
    func problem(now: Timestamp) -> Message? {
        guard let newest = store.ownSnapshots(kind: .snapshot).last else { return "there is no backup here" }
        if now.secondsSince(newest.creationTime) < -Self.behindSeconds {
            return
                "the clock is behind the newest backup, of \(SystemClock.localTime(newest.creationTime)). Is the clock right?"
        }
        return clockProblem(after: newest, now: now) ?? contentProblem(of: newest)
    }

    /// A suspected problem after a backup, because of which a rule must not remove anything; `nil` if there is none.
    func problem(after result: BackupResult, now: Timestamp) -> BackupWarning? {
        if let reason = clockProblem(after: result.snapshot, now: now) { return BackupWarning(.clock, reason) }
        // An incomplete backup is reported anyway.
        guard incompleteness(of: result) == nil else { return nil }
        return contentProblem(of: result.snapshot).map { BackupWarning(.content, $0) }
    }

    /// Why the rule must not remove anything although the backup already reports it; `nil` when it may.
    func incompleteness(of result: BackupResult) -> BackupWarning? {
        if !result.unreadable.isEmpty { return BackupWarning(.content, "some files could not be read") }
        guard result.warnings.contains(where: { $0.kind == .moved }) else { return nil }
        return BackupWarning(.content, "files were moved while the backup was made")
    }

    /// - Returns: why the clock is implausible; `nil` when it is plausible.
    func clockProblem(after made: Snapshot, now: Timestamp) -> Message? {
        guard let earlier = store.ownSnapshots(kind: .snapshot).last(where: { $0.id != made.id }) else { return nil }
        let seconds = now.secondsSince(earlier.creationTime)
        let time = SystemClock.localTime(earlier.creationTime)
        if seconds < -Self.behindSeconds { return "the clock is behind the backup before, of \(time). Is the clock right?" }
        if seconds > Self.aheadSeconds { return "the backup before is of \(time), more than a month ago. Is the clock right?" }
        return nil
    }

    /// - Returns: why the backup may be worse than those before it; `nil` when it is not.
    private func contentProblem(of made: Snapshot) -> Message? {
        let others = store.ownSnapshots(kind: .snapshot).filter { $0.id != made.id && $0.channel == made.channel }
        guard let before = others.last else { return nil }
        let amount = amount(of: made)
        if amount.isMuchLess(than: self.amount(of: before)) {
            return "this backup holds much less than the one before, \(before.name). Is all data there?"
        }
        // The disk may have been missing for days: then the previous backup holds no more than this one.
        if let fuller = others.last(where: { amount.hasMuchLessMedia(than: self.amount(of: $0)) }) {
            if amount.mediaFiles == 0 {
                return
                    "the media folder is empty, and at the backup \(fuller.name) it was not. Is its disk mounted? If the media were deleted on purpose, remove old backups with: backupfs forget; then this one with: backupfs delete \(fuller.name)"
            }
            if isOnOtherFileSystem(made, than: fuller) {
                return
                    "the media folder is on another file system than at the backup \(fuller.name) and holds much less. Is its disk mounted? If the media were deleted on purpose, remove old backups with: backupfs forget; then this one with: backupfs delete \(fuller.name)"
            }
        }
        guard isOnOtherFileSystem(made, than: before) else { return nil }
        return "the media folder is on another file system than at the backup before. Is its disk mounted?"
    }

    private func isOnOtherFileSystem(_ made: Snapshot, than earlier: Snapshot) -> Bool {
        let key = Snapshot.mediaFileSystemAttribute
        guard let before = earlier.record.attributes[key], let now = made.record.attributes[key] else { return false }
        return before != now
    }

    private func amount(of snapshot: Snapshot) -> BackupAmount {
        let isHere = store.repository.snapshot(id: snapshot.id) != nil
        return BackupAmount(of: snapshot, in: isHere ? store.repository : copy ?? store.repository)
    }

    /// The backups that no rule removes because the newest one of their channel holds much less: the missing data may be lost in
    /// the app too.
    /// - Parameter snapshots: oldest first.
    func heldBackups(among snapshots: [Snapshot]) -> Set<SnapshotID> {
        var held: Set<SnapshotID> = []
        for channel in Channel.allCases {
            let own = snapshots.filter { $0.channel == channel }
            held.formUnion(BackupAmount.muchFuller(thanNewestOf: own.map(amount)).map { own[$0].id })
        }
        return held
    }

    /// The message for a backup that a rule would remove.
    static func notice(ofHeld snapshot: Snapshot) -> Message {
        "the backup \(snapshot.name) holds much more than the newest one, so it stays, though the rule would remove it. Is all data there? If what is missing was deleted on purpose, remove it with: backupfs delete \(snapshot.name)"
    }
}

/// The amount of data in a backup, as retention compares it with another one.
struct BackupAmount {
    let records: UInt64
    /// `nil` for a backup without an export, which has fewer files of the same data.
    let files: UInt64?
    let mediaFiles: UInt64
    let mediaBytes: UInt64

    /// A backup of an older program does not record its media totals; its root folder has them. If the root cannot be read, it
    /// counts as a backup without media.
    init(of snapshot: Snapshot, in repository: Repository) {
        func number(_ name: String) -> UInt64? { snapshot.record.attributes[name].flatMap { UInt64($0) } }
        records = number("records") ?? 0
        // Files derived from photos do not count: a backup made without the photo helper lacks them, and no data of the app.
        let all = snapshot.record.root.totals.fileCount
        files = snapshot.storesExport ? all - min(all, number(Snapshot.photoFilesAttribute) ?? 0) : nil
        if let files = number(Snapshot.mediaFilesAttribute), let bytes = number(Snapshot.mediaBytesAttribute) {
            mediaFiles = files
            mediaBytes = bytes
        } else {
            let media = (try? repository.rootDirectory(of: snapshot))?.entry(named: "media")?.storedDirectory?.totals
            mediaFiles = media?.fileCount ?? 0
            mediaBytes = media?.byteCount ?? 0
        }
    }

    /// Compared separately: a lost media folder may hardly show in the number of files.
    private var measures: [UInt64?] { [records, files, mediaFiles, mediaBytes] }

    /// Whether any measure is less than half.
    func isMuchLess(than other: BackupAmount) -> Bool {
        zip(measures, other.measures).contains { Self.isMuchLess($0, than: $1) }
    }

    func hasMuchLessMedia(than other: BackupAmount) -> Bool {
        Self.isMuchLess(mediaFiles, than: other.mediaFiles) || Self.isMuchLess(mediaBytes, than: other.mediaBytes)
    }

    private static func isMuchLess(_ count: UInt64?, than other: UInt64?) -> Bool {
        guard let count, let other else { return false }
        return count < other / 2 + other % 2
    }

    /// The backups that hold more than twice as much as the newest in some measure: the newest of those, and the one that holds
    /// most. Keeping both means that gradual data loss does not displace the backup that had everything.
    /// - Parameter amounts: oldest first.
    /// - Returns: their indices.
    static func muchFuller(thanNewestOf amounts: [BackupAmount]) -> Set<Int> {
        guard let newest = amounts.last else { return [] }
        var found: Set<Int> = []
        for measure in newest.measures.indices {
            let fuller = amounts.indices.filter { isMuchLess(newest.measures[measure], than: amounts[$0].measures[measure]) }
            // Of several that hold the same amount, the newest.
            let fullest = fuller.max { (amounts[$0].measures[measure] ?? 0, $0) < (amounts[$1].measures[measure] ?? 0, $1) }
            found.formUnion([fuller.last, fullest].compactMap { $0 })
        }
        return found
    }
}
