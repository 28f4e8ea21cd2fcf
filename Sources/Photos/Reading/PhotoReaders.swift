import BackupCore
import Glibc
import PhotoData
import Synchronization
import SystemIO

/// What a photo came to: what it says of itself, and its thumbnail.
public struct PhotoReading: Sendable {
    /// What the file says, or why it says nothing.
    public let metadata: MediaOutcome<PhotoMetadata>
    /// A JPEG; `nil` when none can be made of the file.
    public let thumbnail: [UInt8]?

    public init(metadata: MediaOutcome<PhotoMetadata>, thumbnail: [UInt8]?) {
        self.metadata = metadata
        self.thumbnail = thumbnail
    }
}

/// Reads photos with as many helpers as there are processors. A helper starts with its first photo, and ends with this object.
public final class PhotoReaders: Sendable {
    /// A photo that is being read.
    public final class Pending: Sendable {
        fileprivate let result = Monitor<Result<PhotoReading, BackupError>?>(nil)
        private let pool: WorkerPool

        fileprivate init(_ pool: WorkerPool) { self.pool = pool }

        /// Whether `value` would not wait.
        public var isDone: Bool { result.withLock { $0 != nil } }

        /// Waits for it.
        /// - Throws: the error of opening the file; `interrupted` when the operation was cancelled.
        public func value() throws(BackupError) -> PhotoReading {
            while !isDone, pool.help() {}
            let known = result.wait(until: { $0 != nil }, { $0 })
            guard let known else { throw BackupError(.inputOutput, "the photo was not read") }
            return try known.get()
        }
    }

    /// An idle helper. Only the thread that took it out of the list uses it.
    private struct Idle: @unchecked Sendable { let helper: MediaHelper }

    private let pool: WorkerPool
    private let idle = Mutex<[Idle]>([])
    private let isEnding = Atomic<Bool>(false)
    private let program: String?
    private let makesThumbnails: Bool

    /// - Parameters:
    ///   - program: the helper; by default the one that was installed with this program.
    ///   - makesThumbnails: whether to make them, which takes most of the time.
    public init(program: String? = MediaHelper.installedProgram, makesThumbnails: Bool) {
        self.program = program
        self.makesThumbnails = makesThumbnails
        pool = WorkerPool(queueLimit: 4096)
    }

    /// Waits for what was begun, and ends the threads and the helpers. What has not begun is dropped. Nothing can be read after
    /// it.
    public func end() {
        isEnding.store(true, ordering: .relaxed)
        pool.end()
        idle.withLock { $0 = [] }
    }

    /// Has a photo read by another thread.
    /// - Parameter open: opens the file for reading alone. One that changes while it is read is `sourceUnreadable`.
    public func read(
        _ open: @escaping @Sendable () throws(BackupError) -> SharedFile
    ) -> Pending {
        let pending = Pending(pool)
        let cancellation = Cancellation.current
        pool.submit { [self] in
            let result = Result { () throws(BackupError) in
                guard let cancellation else { return try read(opening: open) }
                return try cancellation.run { () throws(BackupError) in try read(opening: open) }
            }
            pending.result.changeWakingAll { $0 = result }
        }
        return pending
    }

    private func read(
        opening open: () throws(BackupError) -> SharedFile
    ) throws(BackupError) -> PhotoReading {
        try Cancellation.check()
        guard !isEnding.load(ordering: .relaxed) else {
            throw BackupError(.interrupted, "the photo was not read")
        }
        guard program != nil else {
            // The file need not be opened, nor copied, to be informed of that.
            let nothing = try OwnedDescriptor.open("/dev/null", O_RDONLY)
            return PhotoReading(metadata: try MediaHelper(program: nil).metadata(of: nothing), thumbnail: nil)
        }
        let file = try open()
        let helper = idle.withLock { $0.popLast() } ?? Idle(helper: MediaHelper(program: program))
        defer { idle.withLock { $0.append(helper) } }
        let before = try file.status()
        let reading = try file.withDescriptor { (file) throws(BackupError) in
            let metadata = try helper.helper.metadata(of: file)
            guard makesThumbnails, case .found = metadata else { return PhotoReading(metadata: metadata, thumbnail: nil) }
            switch try helper.helper.thumbnail(of: file) {
            case .found(let thumbnail): return PhotoReading(metadata: metadata, thumbnail: thumbnail)
            // Memory for another helper may be scarce now: the photo is to be read again.
            case .helperMissing(let error): return PhotoReading(metadata: .helperMissing(error), thumbnail: nil)
            case .nothing, .unreadable: return PhotoReading(metadata: metadata, thumbnail: nil)
            }
        }
        guard try file.status() == before else {
            throw BackupError(.sourceUnreadable, "changed again and again while it was read", path: file.path)
        }
        return reading
    }
}
