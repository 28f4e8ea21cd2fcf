import BackupCore
import Formats
import Photos
import SystemIO

/// The block `photos` of `status.json`.
struct PhotoState: JSONConvertible, Sendable {
    let json: OrderedJSON

    /// - Returns: `nil` for a store in which no photo was ever starred, or whose queue cannot be read now.
    init?(_ store: Store) {
        guard QueueFolder(root: store.paths.photos).exists, let stars = try? store.starList.stars() else { return nil }
        var counts = (queued: 0, uploading: 0, failed: 0, uploaded: 0)
        var sizeBytes: UInt64 = 0
        var lastError: String?
        for item in stars.lazy.map(\.item) {
            switch item.stage {
            case .queued: counts.queued += 1
            case .downloading, .processing, .uploading: counts.uploading += 1
            case .uploaded: counts.uploaded += 1
            case .failed: counts.failed += 1
            }
            guard item.stage != .uploaded else { continue }
            sizeBytes += item.content?.metadata.fileSize ?? 0
            lastError = item.error ?? lastError
        }
        json = [
            "queued": counts.queued, "uploading": counts.uploading, "uploaded": counts.uploaded, "failed": counts.failed,
            "bytes": sizeBytes, "lastError": lastError,
        ]
    }
}
