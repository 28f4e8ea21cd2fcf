import BackupCore
import BackupRepository
import Restore
import Synchronization
import SystemIO

/// Counts the content of a media folder, for the percentages of its backup, without delaying the backup: a small folder is
/// counted immediately, a large one by a thread beside the backup. Until that finishes, the earlier backup's totals serve as an
/// estimate.
final class MediaListing: Sendable {
    /// The number of entries to count immediately, which takes about a millisecond.
    private static let immediateEntryCount = 1_000
    /// A backup that takes little longer than the earlier one is over by then, and needs no count.
    private static let delayNanoseconds: UInt64 = 500_000_000

    private let isEnding = Monitor(false)
    private let thread = Mutex<SystemThread?>(nil)

    /// - Parameters:
    ///   - path: the media folder.
    ///   - amongMedia: entries of the folder that are not media.
    ///   - earlier: the totals in the earlier backup.
    ///   - found: receives the number of files and bytes, immediately and perhaps later again from another thread.
    init(
        _ path: String, amongMedia: DatabaseAmongMedia, earlier: DirectoryTotals?,
        found: @escaping @Sendable (_ files: UInt64, _ bytes: UInt64) -> Void
    ) {
        if let (files, bytes) = try? Self.count(
            path, amongMedia, entryLimit: Self.immediateEntryCount, isEnding: { false })
        {
            found(files, bytes)
            return
        }
        if let earlier { found(earlier.fileCount, earlier.byteCount) }
        let delay = earlier == nil ? 0 : Self.delayNanoseconds
        // Without a free thread, only the percentages are less accurate.
        let started = try? SystemThread { [isEnding] in
            guard !isEnding.wait(until: { $0 }, forNanoseconds: delay) else { return }
            let counted = try? Self.count(path, amongMedia, entryLimit: .max) { isEnding.withLock { $0 } }
            if let (files, bytes) = counted { found(files, bytes) }
        }
        thread.withLock { $0 = started }
    }

    /// Call when the backup of the folder is over.
    func end() {
        isEnding.changeWakingAll { $0 = true }
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// - Returns: `nil` when there are too many entries, or when ended early.
    private static func count(
        _ path: String, _ amongMedia: DatabaseAmongMedia, entryLimit: Int, isEnding: () -> Bool
    ) throws(BackupError) -> (files: UInt64, bytes: UInt64)? {
        var folders = [(path, amongMedia)]
        var entryCount = 0
        var fileCount: UInt64 = 0
        var byteCount: UInt64 = 0
        while let (folder, amongMedia) = folders.popLast() {
            // An unreadable folder does not matter here: the backup itself reports it.
            guard let reader = try? DirectoryHandle(path: folder) else { continue }
            guard let names = try reader.names(limit: entryLimit - entryCount) else { return nil }
            for name in names where !amongMedia.hides(name) {
                if isEnding() { return nil }
                guard let status = try? reader.status(name) else { continue }
                switch status.kind {
                case .directory: folders.append(("\(folder)/\(name)", amongMedia.entering(name)))
                case .regular:
                    fileCount += 1
                    byteCount = byteCount.addingSaturating(status.size)
                case .symbolicLink, .other: continue
                }
            }
            entryCount += names.count
        }
        return (fileCount, byteCount)
    }
}
