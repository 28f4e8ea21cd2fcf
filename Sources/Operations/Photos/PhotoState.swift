import BackupCore
import Formats
import Photos
import SystemIO

/// The block `photos` of `status.json`.
struct PhotoState: JSONConvertible, Sendable {
    let json: OrderedJSON

    /// - Returns: `nil` for a store in which no photo was ever starred, or whose queue cannot be read now.
    init?(_ paths: StorePaths) {
        let queue = QueueFolder(root: paths.photos)
        guard queue.exists, let ids = try? queue.queuedIDs(), let uploaded = try? queue.uploadedIDs() else { return nil }
        var counts = (queued: 0, uploading: 0, failed: 0, uploaded: uploaded.count)
        var sizeBytes: UInt64 = 0
        var lastError: String?
        for id in ids {
            guard let item = try? queue.item(id) else { continue }
            switch item.stage {
            case .queued: counts.queued += 1
            case .downloading, .processing, .uploading: counts.uploading += 1
            case .uploaded: counts.uploaded += 1
            case .failed: counts.failed += 1
            }
            if item.stage != .uploaded { sizeBytes += item.content?.metadata.fileSize ?? 0 }
            lastError = item.error ?? lastError
        }
        json = [
            "queued": counts.queued, "uploading": counts.uploading, "uploaded": counts.uploaded, "failed": counts.failed,
            "bytes": sizeBytes, "lastError": lastError,
        ]
    }
}
