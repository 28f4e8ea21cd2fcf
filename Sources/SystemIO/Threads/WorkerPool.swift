import Glibc
import Synchronization

/// A few threads that share work, with a bound on what waits for them.
///
/// Whoever hands in work while the queue is full does it himself: nobody gets ahead of the threads by more than the queue, so memory stays
/// bounded, and since nobody ever waits for room, work may hand in further work.
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

    /// What the threads hold on to: not the pool itself, which ends them when it is let go.
    private typealias Queue = Monitor<State>

    private let queue = Queue(State())
    private let queueLimit: Int
    private let threads = Mutex<[SystemThread]>([])

    /// Processors that this process may use.
    public static let processorCount = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    /// - Parameters:
    ///   - threadCount: if the system refuses to start so many, those that could be started must do, be it none.
    ///   - queueLimit: pieces of work that may wait.
    public init(threadCount: Int = processorCount, queueLimit: Int) {
        self.queueLimit = queueLimit
        threads.withLock { threads in
            for _ in 0..<threadCount {
                if let thread = Self.start(queue) { threads.append(thread) }
            }
        }
    }

    deinit { end() }

    /// Hands in work, or does it.
    public func submit(_ work: @escaping Work) {
        let isQueued = queue.changeWakingOne { state in
            guard !state.isEnding, state.count < queueLimit else { return false }
            state.queue.append(work)
            return true
        }
        if !isQueued { work() }
    }

    /// Does one piece of work that waits, in the calling thread.
    /// - Returns: false when none waits.
    func help() -> Bool {
        guard let work = queue.withLock({ $0.removeFirst() }) else { return false }
        work()
        return true
    }

    /// Waits for the work that was handed in, and ends the threads. Whatever is handed in after this is done by whoever hands it in.
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
