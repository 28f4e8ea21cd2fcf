import BackupCore
import Glibc
import Synchronization

/// Ends an operation from another thread, or from a signal handler: the operation asks at places where it can stop, and gets an error there.
///
/// Which operation a thread works for is known by the thread (`run`), so that what serves readers beside it, with the same code, goes on.
public final class Cancellation: Sendable {
    /// Set by a signal: ends whatever operation this process runs.
    private static let isProcessCancelled = Atomic<Bool>(false)
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private let isRequested = Atomic<Bool>(false)
    private let shieldCount = Atomic<Int>(0)
    private static let allShieldsCount = Atomic<Int>(0)

    public init() {}

    /// Asks the operation to end; it does at the next place where it can.
    public func request() { isRequested.store(true, ordering: .relaxed) }

    /// Whether it was asked to end, be it where it may not.
    public var isCancelled: Bool {
        isRequested.load(ordering: .relaxed) || Self.isProcessCancelled.load(ordering: .relaxed)
    }

    /// - Throws: `interrupted` when the operation is to end.
    public func check() throws(BackupError) {
        guard isCancelled, shieldCount.load(ordering: .relaxed) == 0 else { return }
        throw BackupError(.interrupted, "cancelled")
    }

    /// The operation for which this thread works.
    public static var current: Cancellation? {
        pthread_getspecific(key).map { Unmanaged<Cancellation>.fromOpaque($0).takeUnretainedValue() }
    }

    /// For code that may run for an operation or for somebody else.
    /// - Throws: `interrupted` when the operation for which this thread works is to end.
    public static func check() throws(BackupError) { try current?.check() }

    /// Runs `body` as work for this operation, in this thread.
    public func run<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let outer = pthread_getspecific(Self.key)
        // Not retained: it outlives `body`, in which alone it can be seen.
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, outer) }
        return try body()
    }

    /// Runs what must come to its end: putting things back, and finishing what cannot be put back any more.
    public static func shielded<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        guard let current else { return try body() }
        current.shieldCount.add(1, ordering: .relaxed)
        allShieldsCount.add(1, ordering: .relaxed)
        defer {
            current.shieldCount.subtract(1, ordering: .relaxed)
            allShieldsCount.subtract(1, ordering: .relaxed)
        }
        return try body()
    }

    /// Whether some operation of this process is in what must come to its end.
    static var isAnyShielded: Bool { allShieldsCount.load(ordering: .relaxed) > 0 }

    /// Cancels what this process runs, and all that it runs from now on. Also for signal handlers.
    public static func cancelProcess() { isProcessCancelled.store(true, ordering: .relaxed) }

    /// Whether `cancelProcess` was called.
    public static var isProcessEnding: Bool { isProcessCancelled.load(ordering: .relaxed) }
}
