import BackupCore
import Glibc
import Synchronization

/// Cancels an operation from another thread, or from a signal handler: the operation checks at points where it can stop, and gets
/// an error there.
///
/// The thread knows its operation (`run`), so that the same code, when it serves readers concurrently, continues.
public final class Cancellation: Sendable {
    /// Set by a signal: cancels every operation of this process.
    private static let isProcessCancelled = Atomic<Bool>(false)
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private let isRequested = Atomic<Bool>(false)
    private let outer: Cancellation?
    private let mustEnd: (@Sendable () -> Bool)?
    private let nextLookNanoseconds = Atomic<UInt64>(0)
    private static let lookIntervalNanoseconds: UInt64 = 100_000_000
    private let shieldCount = Atomic<Int>(0)
    private static let allShieldsCount = Atomic<Int>(0)

    public init() {
        outer = nil
        mustEnd = nil
    }

    /// An operation within another one, which also ends for a reason of its own.
    /// - Parameter mustEnd: asked at points where the operation can end, up to ten times a second, by any of its threads. Once it
    ///   has returned true, the operation stays cancelled.
    public init(within outer: Cancellation?, endingIf mustEnd: @escaping @Sendable () -> Bool) {
        self.outer = outer
        self.mustEnd = mustEnd
    }

    /// Asks the operation to end; it ends at the next point where it can.
    public func request() { isRequested.store(true, ordering: .relaxed) }

    /// Whether a cancellation was requested, even at a point where it is not allowed.
    public var isCancelled: Bool {
        isRequested.load(ordering: .relaxed) || Self.isProcessCancelled.load(ordering: .relaxed) || outer?.isCancelled == true
    }

    /// - Throws: `interrupted` when the operation must end.
    public func check() throws(BackupError) {
        look()
        guard isCancelled, shieldCount.load(ordering: .relaxed) == 0 else { return }
        throw BackupError(.interrupted, "cancelled")
    }

    private func look() {
        outer?.look()
        guard let mustEnd, !isRequested.load(ordering: .relaxed) else { return }
        let now = SystemClock.monotonicNanoseconds()
        let next = nextLookNanoseconds.load(ordering: .relaxed)
        guard now >= next,
            nextLookNanoseconds.compareExchange(
                expected: next, desired: now + Self.lookIntervalNanoseconds, ordering: .relaxed
            ).exchanged
        else { return }
        if mustEnd() { request() }
    }

    /// The operation for which this thread works.
    public static var current: Cancellation? {
        pthread_getspecific(key).map { Unmanaged<Cancellation>.fromOpaque($0).takeUnretainedValue() }
    }

    /// For code that may or may not run for an operation.
    /// - Throws: `interrupted` when the operation of this thread must end.
    public static func check() throws(BackupError) { try current?.check() }

    /// Runs `body` in this thread as part of this operation.
    public func run<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let outer = pthread_getspecific(Self.key)
        // Not retained: it outlives `body`, the only code that can see it.
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, outer) }
        return try body()
    }

    /// Runs code that must complete: a rollback, or the rest of a change that can no longer be rolled back.
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

    /// Whether an operation of this process is in code that must complete.
    static var isAnyShielded: Bool { allShieldsCount.load(ordering: .relaxed) > 0 }

    /// Cancels all current and future operations of this process. Safe in signal handlers.
    public static func cancelProcess() { isProcessCancelled.store(true, ordering: .relaxed) }

    /// Whether `cancelProcess` was called.
    public static var isProcessEnding: Bool { isProcessCancelled.load(ordering: .relaxed) }
}
