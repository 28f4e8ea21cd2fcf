import BackupCore
import BackupRepository

/// The amount of data in a backup, as retention compares it with another one.
struct BackupAmount {
    let records: UInt64
    let files: UInt64
    let mediaFiles: UInt64
    let mediaBytes: UInt64

    /// A backup of an older program does not record its media totals; its root folder has them. If the root cannot be read, it counts as a backup without
    /// media.
    init(of snapshot: Snapshot, in repository: Repository) {
        func number(_ name: String) -> UInt64? { snapshot.record.attributes[name].flatMap { UInt64($0) } }
        records = number("records") ?? 0
        files = snapshot.record.root.totals.fileCount
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
    private var measures: [UInt64] { [records, files, mediaFiles, mediaBytes] }

    /// Whether any measure is less than half.
    func isMuchLess(than other: BackupAmount) -> Bool {
        zip(measures, other.measures).contains { Self.isMuchLess($0, than: $1) }
    }

    func hasMuchLessMedia(than other: BackupAmount) -> Bool {
        Self.isMuchLess(mediaFiles, than: other.mediaFiles) || Self.isMuchLess(mediaBytes, than: other.mediaBytes)
    }

    private static func isMuchLess(_ count: UInt64, than other: UInt64) -> Bool { count < other / 2 + other % 2 }

    /// The backups that hold more than twice as much as the newest in some measure: the newest of those, and the one that holds most. Keeping both means that
    /// gradual data loss does not displace the backup that had everything.
    /// - Parameter amounts: oldest first.
    /// - Returns: their indices.
    static func muchFuller(thanNewestOf amounts: [BackupAmount]) -> Set<Int> {
        guard let newest = amounts.last else { return [] }
        var found: Set<Int> = []
        for measure in newest.measures.indices {
            let fuller = amounts.indices.filter { isMuchLess(newest.measures[measure], than: amounts[$0].measures[measure]) }
            // Of several that hold the same amount, the newest.
            let fullest = fuller.max { (amounts[$0].measures[measure], $0) < (amounts[$1].measures[measure], $1) }
            found.formUnion([fuller.last, fullest].compactMap { $0 })
        }
        return found
    }
}
