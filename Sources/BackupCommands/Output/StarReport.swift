import ArgumentParser
import BackupCore
import Formats
import Operations
import Photos
import SystemIO

/// Stars, for people and for programs.
enum StarReport {
    static func write(_ change: StarredPhotos.Change, isJSON: Bool) {
        if isJSON {
            let isStar = [.queued, .alreadyUploaded].contains(change.outcome)
            return Terminal.write(
                jsonLine: [
                    "message_type": isStar ? "star" : "unstar", "path": change.path, "outcome": change.outcome.rawValue,
                ])
        }
        let path = Terminal.shown(change.path)
        switch change.outcome {
        case .queued: Terminal.writeUnlessQuiet("Starred \(path).")
        case .alreadyUploaded: Terminal.writeUnlessQuiet("\(path) is starred and uploaded already.")
        case .unstarred: Terminal.writeUnlessQuiet("\(path) has no star any more.")
        case .unstarredUploaded:
            Terminal.writeUnlessQuiet("\(path) has no star any more. What was uploaded stays in the bucket.")
        case .notStarred: Terminal.writeUnlessQuiet("\(path) had no star.")
        }
    }

    static func json(_ item: QueueItem) -> OrderedJSON {
        [
            "path": item.path, "stage": item.stage.text, "md5": item.content?.key.md5, "key": item.content?.key.text,
            "attempts": item.attempts, "error": item.error, "starred_at": item.queuedAt,
            "live_photo_pair": item.pairID == nil
                ? nil : item.content?.livePhotoPair,
        ]
    }
}

/// An upload of starred photos in the foreground, and its result.
struct PhotoUploadReport {
    let isJSON: Bool

    /// - Parameter mustRun: whether it is an error that another process uploads, or that there is no remote for photos.
    func run(_ store: Store, mustRun: Bool) throws {
        if !mustRun, store.settings.photosRemote == nil {
            if !isJSON {
                Terminal.writeUnlessQuiet(
                    "There is no remote for photos yet. Add one with: backupfs remote add NAME URL --kind photos")
            }
            return
        }
        let summary: QueueWorker.Summary
        do throws(BackupError) {
            let printer = ProgressPrinter(isJSON: isJSON)
            defer { printer.finish() }
            summary = try PhotoUpload(store: store).run(progress: printer.handler)
        } catch {
            // The process that uploads now finds the new stars, too.
            guard error.code == .busy, !mustRun else { throw error }
            if !isJSON { Terminal.writeUnlessQuiet("Another process uploads the photos of this store, and these, too.") }
            return
        }
        write(summary)
        if let stop = summary.stop { throw stop }
        guard let first = summary.failures.first else { return }
        throw first.error.with(
            nil, "photos could not be uploaded: \(first.path): \(first.error.message)",
            findings: summary.failures.map { "\($0.path): \($0.error.summary)" })
    }

    private func write(_ summary: QueueWorker.Summary) {
        if isJSON {
            return Terminal.write(
                jsonLine: [
                    "message_type": "photo_upload", "uploaded": summary.uploadedCount, "present": summary.presentCount,
                    "failed": summary.failures.count, "bytes": summary.uploadedBytes,
                ])
        }
        let size = ByteCount.text(summary.uploadedBytes)
        Terminal.writeUnlessQuiet(
            .plural(
                summary.uploadedCount, one: "Uploaded \(summary.uploadedCount) photo, \(size).",
                other: "Uploaded \(summary.uploadedCount) photos, \(size)."))
        guard summary.presentCount > 0 else { return }
        Terminal.writeUnlessQuiet(
            .plural(
                summary.presentCount, one: "\(summary.presentCount) photo was in the bucket already.",
                other: "\(summary.presentCount) photos were in the bucket already."))
    }
}
