import BackupCore
import Glibc
import SystemIO

/// Has photos and videos read by `backupfs-media`, a process without any rights: decoders are often attacked, and this program
/// has keys, files and the network.
///
/// It starts the helper with the first file, and again when it has died or was killed: at most three times for one file, within
/// the time for that file. After three starts in a row that have come to nothing it waits for a minute. For one thread at a time.
public final class MediaHelper {
    /// How long reading the metadata of a file may take.
    public static let metadataSeconds = 10.0
    /// How long making a thumbnail may take.
    public static let thumbnailSeconds = 30.0
    /// How long a start may take: libraries are loaded, from a slow disk perhaps.
    private static let startSeconds = 30.0
    /// How long no start is tried after three that have failed: memory or descriptors may have been scarce.
    private static let pauseSeconds = 60.0
    private static let attemptLimit = 3

    private let program: String?
    private let timeoutSeconds: (metadata: Double, thumbnail: Double)
    private var helper: HelperProcess?
    private var requestNumber: UInt32 = 0
    private var failedStartCount = 0
    /// Why no file can be read, and until when of the monotonic clock no start is tried.
    private var missing: (error: BackupError, until: Double)?

    /// - Parameters:
    ///   - program: the helper; by default the one that was installed with this program.
    ///   - metadataSeconds: how long a file may take; then the helper is killed.
    public init(
        program: String? = MediaHelper.installedProgram, metadataSeconds: Double = metadataSeconds,
        thumbnailSeconds: Double = thumbnailSeconds
    ) {
        self.program = program
        timeoutSeconds = (metadataSeconds, thumbnailSeconds)
    }

    /// The helper that was installed with this program.
    public static var installedProgram: String? { InstalledHelper.path(of: "backupfs-media") }

    /// The process that runs now, for tests.
    public var processID: pid_t? { helper?.process.processID }

    // MARK: Questions

    /// What a file says of itself.
    /// - Parameter file: opened for reading alone. The helper does not move its position.
    /// - Throws: `interrupted` when the operation was cancelled; `invalidArgument` for a file that is open for writing.
    public func metadata(of file: borrowing OwnedDescriptor) throws(BackupError) -> MediaOutcome<PhotoMetadata> {
        try outcome(of: .metadata, file, timeoutSeconds.metadata) { answer throws(BackupError) in
            try PhotoMetadata(decoding: answer.content)
        }
    }

    /// A JPEG in fewer than 50,000 bytes.
    /// - Parameter file: as for `metadata`.
    public func thumbnail(
        of file: borrowing OwnedDescriptor, _ form: ThumbnailForm = .usual
    ) throws(BackupError) -> MediaOutcome<[UInt8]> {
        try outcome(of: .thumbnail, argument: form.argument, file, timeoutSeconds.thumbnail) { answer throws(BackupError) in
            try answer.thumbnail()
        }
    }

    /// A thumbnail as a PNG.
    /// - Parameters:
    ///   - file: the thumbnail, a JPEG; as for `metadata`.
    ///   - sidePixels: the longer side has as many pixels at most; up to 256. A smaller one stays as it is.
    public func picture(of file: borrowing OwnedDescriptor, sidePixels: Int) throws(BackupError) -> MediaOutcome<PNGPicture> {
        try outcome(
            of: .picture, argument: UInt32(sidePixels), file, timeoutSeconds.thumbnail
        ) { answer throws(BackupError) in try answer.picture(sidePixels: sidePixels) }
    }

    /// Has the helper try what its sandbox must refuse (`sandbox_attempt`).
    /// - Returns: the errno, 0 when it succeeded; `unreadable(.crashed)` when it was killed for the attempt.
    public func attempt(_ number: UInt32, descriptor: Int32) throws(BackupError) -> MediaOutcome<Int32> {
        try ask(.attempt, argument: number, descriptor, 10, attemptLimit: 1) { answer throws(BackupError) in
            var reader = ByteReader(answer.content)
            return try reader.read()
        }
    }

    private func outcome<Value: Sendable>(
        of kind: MediaProtocol.Kind, argument: UInt32 = 0, _ file: borrowing OwnedDescriptor, _ seconds: Double,
        _ decode: (MediaAnswer) throws(BackupError) -> Value
    ) throws(BackupError) -> MediaOutcome<Value> {
        let flags = fcntl(file.rawValue, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE == O_RDONLY else {
            throw BackupError(.invalidArgument, "is open for writing", path: file.path)
        }
        return try ask(kind, argument: argument, file.rawValue, seconds, attemptLimit: Self.attemptLimit, decode)
    }

    private func ask<Value: Sendable>(
        _ kind: MediaProtocol.Kind, argument: UInt32, _ descriptor: Int32, _ seconds: Double, attemptLimit: Int,
        _ decode: (MediaAnswer) throws(BackupError) -> Value
    ) throws(BackupError) -> MediaOutcome<Value> {
        var deadline: Double?
        for _ in 0..<attemptLimit {
            try start()
            if let missing { return .helperMissing(missing.error) }
            // The starts of the helper do not count.
            let end = deadline ?? SystemClock.monotonicSeconds() + seconds
            deadline = end
            requestNumber &+= 1
            let request = MediaRequest(kind, number: requestNumber, argument: argument)
            do throws(HelperProcess.Failure) {
                let answer = try answer(to: request, descriptor, end)
                switch answer.status {
                case .found:
                    do throws(BackupError) {
                        return .found(try decode(answer))
                    } catch {
                        throw HelperProcess.Failure.malformed
                    }
                case .nothing: return .nothing
                case .damaged: return .unreadable(.damaged)
                case .tooLarge: return .unreadable(.tooLarge)
                case .refused: throw .malformed
                }
            } catch {
                // Whatever happened, this helper is not used again.
                helper = nil
                switch error {
                // The system may have killed it for a reason that has passed.
                case .ended: continue
                case .timedOut: return .unreadable(.timedOut)
                case .malformed: return .unreadable(.malformedAnswer)
                case .cancelled(let error): throw error
                }
            }
        }
        return .unreadable(.crashed)
    }

    private func answer(
        to request: MediaRequest, _ descriptor: Int32, _ deadline: Double
    ) throws(HelperProcess.Failure) -> MediaAnswer {
        guard let helper else { throw .ended }
        return try helper.ask(request, descriptor: descriptor, deadline: deadline)
    }

    // MARK: Starting

    /// Starts a helper unless one runs; sets `missing` when none can be had.
    private func start() throws(BackupError) {
        if helper != nil { return }
        if let known = missing, SystemClock.monotonicSeconds() >= known.until { (missing, failedStartCount) = (nil, 0) }
        while missing == nil {
            guard let program else {
                missing = (Self.notInstalled, .infinity)
                return
            }
            do throws(BackupError) {
                let process = try HelperProcess(program: program)
                if let refusal = try Self.refusal(of: process) {
                    missing = (refusal, .infinity)
                } else {
                    failedStartCount = 0
                    helper = process
                }
                return
            } catch {
                guard error.code != .interrupted else { throw error }
                failedStartCount += 1
                guard failedStartCount >= Self.attemptLimit else { continue }
                missing = (Self.startFailure(error), SystemClock.monotonicSeconds() + Self.pauseSeconds)
            }
        }
    }

    /// Waits until the helper is in its sandbox.
    /// - Returns: why it will read nothing.
    private static func refusal(of process: HelperProcess) throws(BackupError) -> BackupError? {
        do throws(HelperProcess.Failure) {
            let answer = try process.answer(
                to: MediaRequest(.ready, number: 0), deadline: SystemClock.monotonicSeconds() + startSeconds)
            if answer.status == .found { return nil }
            let reason = PhotoText.shortened(PhotoText.decoded(answer.content), limitBytes: 200)
            return BackupError(
                .notSupported, "photos are not read: the program for it cannot protect itself (\(reason))",
                remedy: "It needs Linux 4.14 or later with seccomp, also in a container.")
        } catch {
            if case .cancelled(let error) = error { throw error }
            throw noStart
        }
    }

    private static let noStart = BackupError(
        .notSupported, "photos are not read: backupfs-media does not start",
        remedy: "Install the packages libgexiv2-2, libvips42, libopenh264-7, libpangocairo-1.0-0 and libseccomp2.")

    /// An error of the system is about the helper, and not about the file that it should read.
    private static func startFailure(_ error: BackupError) -> BackupError {
        error.code == .notSupported && error.path == nil ? error : noStart.caused(by: .error(error))
    }

    private static let notInstalled = BackupError(
        .notSupported, "photos are not read: backupfs-media is not installed",
        remedy: "Build it with “make media”, or install it beside backupfs.")
}
