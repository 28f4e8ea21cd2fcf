import BackupCore
import PhotoData
import SystemIO

extension QueueWorker {
    /// How a queue is worked.
    public struct Options: Sendable {
        /// Photos at once; the parts of a Live Photo count as one.
        public var parallelCount = 3
        /// Tries of one photo in one run.
        public var tryLimit = 3
        /// The wait after the first failure, which doubles with each further one.
        public var retryMilliseconds: UInt64 = 1_000
        /// How long the download of a photo that is not on this disk may take.
        public var downloadSeconds = 60.0
        /// Which photos that have failed before are tried again.
        public var retried = Retried.all
        /// The program that reads photos.
        public var helper: String? = MediaHelper.installedProgram
        /// Thumbnails that were made before, by the SHA-256 of the photo; called by several threads.
        public var thumbnail: (@Sendable (SHA256Digest) -> [UInt8]?)?
        /// For keys of photos without a date, and for the catalog.
        public var now: @Sendable () -> Timestamp = { SystemClock.now() }
        /// Where the bucket is, as long as it is the same one; `nil` for what the storage says.
        public var place: String?
        /// After how many photos the catalog is published while a run goes on.
        public var publishCount = 200
        /// After how long the catalog is published while a run goes on.
        public var publishSeconds: UInt64 = 300
        /// Receives each change of an item.
        public var note: (@Sendable (QueueItem) -> Void)?

        public init() {}
    }

    /// Photos that have failed before.
    public enum Retried: Sendable {
        case all
        /// Only those that the network has failed, for a reason that may pass.
        case network
        /// Only photos that have not failed.
        case none
    }

    /// What a run has done.
    public struct Summary: Sendable {
        /// Sent to the bucket.
        public internal(set) var uploadedCount = 0
        /// In the bucket already.
        public internal(set) var presentCount = 0
        /// Of the originals that were sent.
        public internal(set) var uploadedBytes: UInt64 = 0
        /// Those that could not be uploaded, with the reasons.
        public internal(set) var failures: [(path: String, error: BackupError)] = []
        /// Whether photos have failed for a reason that may pass: a later run may upload them.
        public internal(set) var mustTryAgain = false
        /// Why the run has ended early; the rest waits.
        public internal(set) var stop: BackupError?

        public init() {}
    }

    /// What the threads of a run share.
    struct State {
        var catalog = PhotoCatalog()
        var waiting: [[String]] = []
        /// Stars that this run has tried: those that are made meanwhile are others.
        var tried: Set<String> = []
        /// Stars that were taken away, or given again, while this run worked on them.
        var forgotten: Set<String> = []
        var hasLoaded = false
        var summary = Summary()
        var doneCount: UInt64 = 0
        var totalCount: UInt64 = 0
        var states: [String: QueueItem] = [:]
        var statusWrittenAt: UInt64 = 0
        /// The stars that are done with once the catalog is published.
        var finished: [(id: String, queuedAt: Timestamp)] = []
        /// What was added to the catalog, also for stars that are gone, and how much of that is published.
        var notedCount = 0
        var publishedCount = 0
        var publishedAt: UInt64 = 0
        var isPublishing = false
    }
}
