import BackupCore
import Glibc
import Synchronization
import SystemIO

/// Counts the requests of a mount by operation and by errno, without a lock, and reports each one while it traces.
public final class RequestMonitor: Sendable {
    /// Shared by all threads: an addition costs far less than any request.
    private final class Counter: Sendable {
        private let value = Atomic<UInt64>(0)
        func increase() { value.add(1, ordering: .relaxed) }
        var count: UInt64 { value.load(ordering: .relaxed) }
    }

    /// A request that a thread is serving.
    struct Served {
        fileprivate let header: RequestHeader
        fileprivate let range: (offset: UInt64, length: UInt64)?
        /// 0 unless requests are traced.
        fileprivate let beganNanoseconds: UInt64
    }

    /// Larger numbers are counted with the last one: the kernel has 52 operations and 133 errnos.
    private static let operationLimit = 64
    private static let errorLimit = 160

    private let served = (0..<operationLimit).map { _ in Counter() }
    private let failed = (0..<errorLimit).map { _ in Counter() }
    private let isTracing = Atomic(false)
    private let trace: @Sendable (ServedRequest) -> Void

    /// - Parameter trace: called with each request while requests are traced, on the thread that has served it.
    public init(trace: @escaping @Sendable (ServedRequest) -> Void = { _ in }) { self.trace = trace }

    /// Whether to report each request from now on.
    public func setTracing(_ isTracing: Bool) { self.isTracing.store(isTracing, ordering: .relaxed) }

    /// The number of requests by operation, and of failed requests by errno (`ENOENT`).
    public var counts: RequestCounts {
        var counts = RequestCounts()
        for (number, counter) in served.enumerated() where counter.count > 0 {
            counts.served[RequestHeader.name(UInt32(number)).description, default: 0] += counter.count
        }
        for (number, counter) in failed.enumerated() where counter.count > 0 {
            counts.failed[SystemCall.name(Int32(number))] = counter.count
        }
        return counts
    }

    /// A request that was answered without being served: interrupted, or on storage that does not respond.
    func noteFailure(_ error: Int32) { failed[min(Int(error), Self.errorLimit - 1)].increase() }

    /// Call before a request is served, on the same thread as `end`.
    func begin(_ request: UnsafeRawBufferPointer) -> Served {
        let header = RequestHeader(request)
        LastReply.error = 0
        guard isTracing.load(ordering: .relaxed) else { return Served(header: header, range: nil, beganNanoseconds: 0) }
        return Served(header: header, range: header.range(request), beganNanoseconds: SystemClock.monotonicNanoseconds())
    }

    /// The request has been answered.
    func end(_ request: Served) {
        let error = LastReply.error
        served[min(Int(request.header.opcode), Self.operationLimit - 1)].increase()
        if error != 0 { noteFailure(error) }
        guard request.beganNanoseconds > 0 else { return }
        trace(
            ServedRequest(
                operation: RequestHeader.name(request.header.opcode).description, inode: request.header.node,
                range: request.range, error: error == 0 ? nil : SystemCall.name(error),
                durationMicroseconds: (SystemClock.monotonicNanoseconds() - request.beganNanoseconds) / 1_000))
    }
}

/// The errno of the calling thread's last reply to the kernel; 0 for success. The thread that serves a request replies to it,
/// below libfuse, which hides the reply from the session's loop.
enum LastReply {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    static var error: Int32 {
        get { Int32(truncatingIfNeeded: Int(bitPattern: pthread_getspecific(key))) }
        set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: Int(newValue))) }
    }
}
