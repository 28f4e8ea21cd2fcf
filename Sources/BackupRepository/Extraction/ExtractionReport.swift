import BackupCore
import Glibc
import Synchronization

/// What an extraction wrote, and what it could not write.
public struct ExtractionReport: Sendable {
    /// At most this many failures are listed; all are counted.
    public static let failureLimit = 1_000

    /// A file or folder that could not be read from the repository; it was not created.
    public struct Failure: Sendable {
        /// Relative to the extracted folder.
        public let path: FileName
        public let error: BackupError
    }

    /// Files that have been written.
    public internal(set) var fileCount: UInt64 = 0
    /// Bytes of these files.
    public internal(set) var byteCount: UInt64 = 0
    /// Files, folders and links that could not be written, also beyond `failures`.
    public internal(set) var failureCount = 0
    /// The first ones, sorted by path.
    public internal(set) var failures: [Failure] = []
    /// The number of files and folders that lack some extended attributes or have another owner: the file system or the user's
    /// rights do not allow them.
    public internal(set) var incompleteCount = 0
    /// The first of these.
    public internal(set) var firstIncomplete: Failure?
}

extension ExtractionReport.Failure {
    /// The message about files that were extracted without all of their metadata; this is the first of them.
    public func note(count: Int) -> Message {
        .plural(
            count, one: "\(count) file or folder lacks extended attributes, or its owner: \(path): \(error.message)",
            other: "\(count) files or folders lack extended attributes, or their owners; the first: \(path): \(error.message)")
    }
}

/// The progress and results of all threads of an extraction.
final class ExtractionLedger: Sendable {
    private let state = Mutex(ExtractionReport())
    private let totals: DirectoryTotals
    private let phase: Message
    private let progress: ProgressHandler?
    /// The owner of entries in the media folder that name none; `nil` if unknown, or if only root could set it.
    let mediaOwner: FileOwner?
    /// Whether all that is extracted is in the media folder.
    let isInMedia: Bool
    /// Only root can change the owner of files.
    let restoresOwners = geteuid() == 0

    init(
        _ totals: DirectoryTotals, mediaOwner: FileOwner?, isInMedia: Bool, phase: Message, _ progress: ProgressHandler?
    ) {
        self.totals = totals
        self.isInMedia = isInMedia
        self.mediaOwner = restoresOwners ? mediaOwner : nil
        self.phase = phase
        self.progress = progress
    }

    func add(files: Int, bytes: UInt64) {
        let (fileCount, byteCount) = state.withLock { state in
            state.fileCount += UInt64(files)
            state.byteCount += bytes
            return (state.fileCount, state.byteCount)
        }
        guard let progress else { return }
        progress(.step(phase, Int(clamping: fileCount), of: Int(clamping: totals.fileCount), bytes: byteCount))
    }

    func add(_ error: BackupError, path: [UInt8]) {
        state.withLock { state in
            state.failureCount += 1
            guard state.failures.count < ExtractionReport.failureLimit else { return }
            state.failures.append(ExtractionReport.Failure(path: FileName(bytes: path), error: error))
        }
    }

    /// Records a file that was extracted without all of its metadata.
    func addIncomplete(_ error: BackupError, path: [UInt8]) {
        state.withLock { state in
            state.incompleteCount += 1
            if state.firstIncomplete == nil {
                state.firstIncomplete = ExtractionReport.Failure(path: FileName(bytes: path), error: error)
            }
        }
    }

    func report() -> ExtractionReport {
        var report = state.withLock { $0 }
        report.failures.sort { $0.path < $1.path }
        return report
    }
}

/// Why a file could not be extracted: because the repository could not be read, which concerns this file alone, or because
/// nothing can be written any more.
enum ExtractionFailure: Error {
    case content(BackupError)
    case target(BackupError)

    static func reading<Result>(_ body: () throws(BackupError) -> Result) throws(ExtractionFailure) -> Result {
        do {
            return try body()
        } catch {
            throw .content(error)
        }
    }

    static func writing<Result>(_ body: () throws(BackupError) -> Result) throws(ExtractionFailure) -> Result {
        do {
            return try body()
        } catch {
            throw .target(error)
        }
    }
}
