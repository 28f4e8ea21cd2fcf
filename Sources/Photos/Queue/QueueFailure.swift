import BackupCore

extension QueueItem {
    /// What is done with a photo.
    enum Step { case reading, downloading, storing }
}

extension QueueItem.Failure {
    /// - Parameter step: what was done when the error was thrown.
    init(_ error: BackupError, _ step: QueueItem.Step) {
        switch error.code {
        case .noSpace: self = .insufficientStorage
        // What was downloaded is no photo, or the photo has no month for its key.
        case .invalidContent where step != .storing: self = .metadataExtractionFailed
        case _ where step == .downloading: self = .iCloudDownloadFailed
        case .offline: self = .networkError
        default: self = step == .reading ? .photoNotFound : .s3UploadFailed
        }
    }

    /// Whether a photo is tried again by the mount and by each run: the network has failed it.
    func mayPass(_ error: BackupError) -> Bool {
        switch self {
        case .networkError: true
        case .iCloudDownloadFailed: error.code == .offline
        case .photoNotFound, .metadataExtractionFailed, .insufficientStorage, .s3UploadFailed: false
        }
    }

    /// Whether the reason may pass within seconds.
    static func isWorthAnotherTry(_ error: BackupError) -> Bool {
        switch error.code {
        case .offline, .inputOutput, .damagedContent, .stale, .noResources: true
        default: false
        }
    }
}
