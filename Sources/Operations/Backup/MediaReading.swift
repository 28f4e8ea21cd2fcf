import BackupCore

/// Selects files of the media folder that a backup reads although they look unchanged.
///
/// A file counts as unchanged if its size, times and inode are the same: where the file system keeps change times, no program can hide a change from that.
/// Elsewhere, a file rewritten with the same size and its old modification time looks unchanged. There, every file is read again at intervals, and before a
/// restore replaces it.
struct MediaReading: Sendable, Equatable {
    /// Reads every file.
    let readsAll: Bool
    /// Reads every file on file systems without change times.
    let readsUntraced: Bool

    /// - Parameters:
    ///   - isLastChance: whether the files will be replaced after this backup.
    ///   - lastReadAt: when all of them were last read; `nil` for never.
    ///   - intervalHours: how long that read stays sufficient; 0 for not at all.
    init(readsAll: Bool, isLastChance: Bool, lastReadAt: Timestamp?, now: Timestamp, intervalHours: Int) {
        self.readsAll = readsAll
        let isRecent = lastReadAt.map { $0 <= now && now.secondsSince($0) < Int64(intervalHours) * 3600 } ?? false
        readsUntraced = readsAll || isLastChance || !isRecent
    }

    private init() { (readsAll, readsUntraced) = (false, false) }

    /// For files that this same backup has just read and stored.
    static let again = MediaReading()

    /// Whether a file that looks unchanged is taken from the previous backup.
    func believesTimes(keepsChangeTime: Bool) -> Bool { !readsAll && (keepsChangeTime || !readsUntraced) }
}
