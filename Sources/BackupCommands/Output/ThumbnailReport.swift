import BackupCore
import Formats
import Photos
import SystemIO

/// What became of thumbnails, for people and for programs.
final class ThumbnailReport {
    private let isJSON: Bool
    private var madeCount = 0
    private var currentCount = 0
    private var missingCount = 0
    private(set) var failedCount = 0

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// Whether some thumbnails are there now.
    var isPartlyDone: Bool { madeCount + currentCount > 0 }

    /// - Throws: the error that stops the run.
    func write(_ result: ThumbnailResult) throws(BackupError) {
        let path = String(decoding: result.path, as: UTF8.self)
        switch result.outcome {
        case .made:
            madeCount += 1
            line(path, "made")
        case .current:
            currentCount += 1
            line(path, "current")
        case .missing:
            missingCount += 1
            line(path, "without_thumbnail")
        case .failed(let reason, let message):
            failedCount += 1
            line(path, "failed", reason, message)
            if !isJSON { Terminal.writeError("\(path): \(message)") }
        case .stopped(let error): throw error
        }
    }

    private func line(_ path: String, _ status: String, _ reason: String? = nil, _ message: Message? = nil) {
        guard isJSON else { return }
        Terminal.write(
            jsonLine: ["message_type": "thumbnail", "file": path, "status": status, "reason": reason, "message": message])
    }

    func writeSummary() {
        if isJSON {
            return Terminal.write(
                jsonLine: [
                    "message_type": "summary", "made": madeCount, "current": currentCount, "without_thumbnail": missingCount,
                    "failed": failedCount,
                ])
        }
        Terminal.writeUnlessQuiet(
            .plural(
                madeCount, one: "Made the thumbnail of \(madeCount) photo.", other: "Made the thumbnails of \(madeCount) photos.")
        )
        if currentCount > 0 {
            Terminal.writeUnlessQuiet(
                .plural(
                    currentCount, one: "The thumbnail of \(currentCount) photo was there already.",
                    other: "The thumbnails of \(currentCount) photos were there already."))
        }
        guard missingCount > 0 else { return }
        Terminal.writeUnlessQuiet(
            .plural(
                missingCount, one: "No backup has a thumbnail of \(missingCount) photo as it is there.",
                other: "No backup has thumbnails of \(missingCount) photos as they are there."))
    }

    /// The error for a run that has done a part of its work.
    func incomplete(_ cause: BackupError?) -> BackupError {
        guard let cause else { return BackupError(.sourceUnreadable, "some thumbnails could not be made") }
        return BackupError(
            .sourceUnreadable, "some thumbnails could not be made: \(cause.message)", path: cause.path, remedy: cause.remedy,
            cause: .error(cause))
    }
}
