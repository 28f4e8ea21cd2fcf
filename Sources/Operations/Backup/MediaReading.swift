import BackupCore

/// Which files of the media folder a backup reads although they look unchanged.
///
/// A file is the one that was backed up if its size, its times and its inode are the same: where the file system keeps a change time, no program
/// can hide a change from that. Elsewhere a file that was rewritten with the same size and its old modification time looks unchanged. There every
/// file is read again now and then, and before a restore replaces it.
struct MediaReading: Sendable, Equatable {
    /// Every file is read.
    let readsAll: Bool
    /// Every file is read on file systems that keep no change time.
    let readsUntraced: Bool

    /// - Parameters:
    ///   - isLastChance: whether the files are replaced after this backup.
    ///   - lastReadAt: when all of them were read; `nil` for never.
    ///   - intervalHours: how long that will do; 0 for not at all.
    init(readsAll: Bool, isLastChance: Bool, lastReadAt: Timestamp?, now: Timestamp, intervalHours: Int) {
        self.readsAll = readsAll
        let isRecent = lastReadAt.map { $0 <= now && now.secondsSince($0) < Int64(intervalHours) * 3600 } ?? false
        readsUntraced = readsAll || isLastChance || !isRecent
    }

    private init() { (readsAll, readsUntraced) = (false, false) }

    /// For what this very backup has stored a moment ago: that has been read.
    static let again = MediaReading()

    /// Whether a file that looks unchanged is taken from the backup before.
    func believesTimes(keepsChangeTime: Bool) -> Bool { !readsAll && (keepsChangeTime || !readsUntraced) }
}
