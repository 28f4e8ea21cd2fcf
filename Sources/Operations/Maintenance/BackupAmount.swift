import BackupCore
import BackupRepository

/// How much a backup holds, as far as retention compares it with another one.
struct BackupAmount {
    let records: UInt64
    let files: UInt64
    let mediaFiles: UInt64
    let mediaBytes: UInt64

    /// A backup of an older program does not say what its media are: its root folder does. One whose root cannot be read counts as one without media.
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

    /// What is compared, each by itself: a folder of media may be lost where the number of files hardly shows it.
    private var measures: [UInt64] { [records, files, mediaFiles, mediaBytes] }

    /// Less than half of something.
    func isMuchLess(than other: BackupAmount) -> Bool {
        zip(measures, other.measures).contains { Self.isMuchLess($0, than: $1) }
    }

    func hasMuchLessMedia(than other: BackupAmount) -> Bool {
        Self.isMuchLess(mediaFiles, than: other.mediaFiles) || Self.isMuchLess(mediaBytes, than: other.mediaBytes)
    }

    private static func isMuchLess(_ count: UInt64, than other: UInt64) -> Bool { count < other / 2 + other % 2 }

    /// Which of several backups hold more than twice as much of something as the newest: the newest of those, and the one that holds most. With both
    /// of them, data that is lost bit by bit does not take the place of the backup that had all of it.
    /// - Parameter amounts: oldest first.
    /// - Returns: their indices.
    static func muchFuller(thanNewestOf amounts: [BackupAmount]) -> Set<Int> {
        guard let newest = amounts.last else { return [] }
        var found: Set<Int> = []
        for measure in newest.measures.indices {
            let fuller = amounts.indices.filter { isMuchLess(newest.measures[measure], than: amounts[$0].measures[measure]) }
            // Of several that hold as much, the newest.
            let fullest = fuller.max { (amounts[$0].measures[measure], $0) < (amounts[$1].measures[measure], $1) }
            found.formUnion([fuller.last, fullest].compactMap { $0 })
        }
        return found
    }
}
