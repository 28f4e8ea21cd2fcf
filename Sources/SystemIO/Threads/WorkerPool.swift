import Glibc
import Synchronization

/// A few threads that share a bounded queue of work.
///
/// A full queue makes the caller run the work itself (caller-runs): no caller gets ahead of the threads by more than the queue, so memory stays bounded.
/// Submitting never blocks, so work may submit further work.
public final class WorkerPool: Sendable {
    public typealias Work = @Sendable () -> Void

    private struct State {
        var queue: [Work?] = []
        var head = 0
        var isEnding = false

        var count: Int { queue.count - head }

        mutating func removeFirst() -> Work? {
            guard head < queue.count else { return nil }
            defer {
                queue[head] = nil
                head += 1
                if head == queue.count {
                    queue.removeAll(keepingCapacity: true)
                    head = 0
                } else if head >= 1_024 {
                    queue.removeFirst(head)
                    head = 0
                }
            }
            return queue[head]
        }
    }

    /// The state that the threads hold: not the pool itself, which ends them when it is released.
    private typealias Queue = Monitor<State>

    private let queue = Queue(State())
    private let queueLimit: Int
    private let threads = Mutex<[SystemThread]>([])

    /// Processors that this process may use.
    public static let processorCount = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    /// - Parameters:
    ///   - threadCount: if the system refuses to start this many, the pool uses those that started, even none.
    ///   - queueLimit: the number of pieces of work that may wait.
    public init(threadCount: Int = processorCount, queueLimit: Int) {
        self.queueLimit = queueLimit
        threads.withLock { threads in
            for _ in 0..<threadCount {
                if let thread = Self.start(queue) { threads.append(thread) }
            }
        }
    }

    deinit { end() }

    /// Submits work, or runs it.
    public func submit(_ work: @escaping Work) {
        let isQueued = queue.changeWakingOne { state in
            guard !state.isEnding, state.count < queueLimit else { return false }
            state.queue.append(work)
            return true
        }
        if !isQueued { work() }
    }

    /// Runs one waiting piece of work in the calling thread.
    /// - Returns: false when none waits.
    func help() -> Bool {
        guard let work = queue.withLock({ $0.removeFirst() }) else { return false }
        work()
        return true
    }

    /// Waits for the submitted work, and ends the threads. Work that is submitted after this runs in the caller.
    public func end() {
        queue.changeWakingAll { $0.isEnding = true }
        let ended = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in ended { thread.join() }
        while help() {}
    }

    private static func start(_ queue: Queue) -> SystemThread? {
        try? SystemThread {
            while let work = queue.wait(until: { $0.isEnding || $0.count > 0 }, { $0.removeFirst() }) { work() }
        }
    }
}
