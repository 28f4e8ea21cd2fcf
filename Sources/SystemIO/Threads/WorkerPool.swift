import BackupCore
import Glibc
import Synchronization

/// A few threads that share a bounded queue of work.
///
/// A full queue makes the caller run the work itself (caller-runs): no caller gets ahead of the threads by more than the queue,
/// so memory stays bounded. Submitting never blocks, so work may submit further work.
public final class WorkerPool: Sendable {
    /// Must report its errors itself.
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

    /// Runs one waiting piece of work in the calling thread, which waits for work of the pool: there may be no other thread.
    /// - Returns: false when none waits.
    public func help() -> Bool {
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

/// Related work in a pool: a thread can wait for it, and gets its first failure. After a failure, work that has not begun is
/// skipped.
public final class WorkGroup: Sendable {
    private struct State {
        var unfinishedCount = 0
        var failure: BackupError?
    }

    private let pool: WorkerPool
    private let state = Monitor(State())

    public init(_ pool: WorkerPool) { self.pool = pool }

    /// Whether a piece of the work has failed.
    public var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Submits work, or runs it in the caller when the pool's queue is full.
    public func submit(_ work: @escaping @Sendable () throws(BackupError) -> Void) {
        submitRegardless { [self] in
            guard !hasFailed else { return }
            do throws(BackupError) {
                try work()
            } catch {
                fail(error)
            }
        }
    }

    /// The same for work that also runs after a failure, since other threads wait for what it releases.
    func submitRegardless(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.unfinishedCount += 1 }
        pool.submit { [self] in
            work()
            state.changeWakingAll { $0.unfinishedCount -= 1 }
        }
    }

    /// Returns a block. While all are in use, the calling thread runs work of the pool, which may hold them: there may be no
    /// other thread.
    public func take(from blocks: BlockPool) -> BlockPool.Block {
        while true {
            if let block = blocks.takeFree() { return block }
            if !pool.help() { return blocks.take() }
        }
    }

    /// Takes bytes of a budget for work of this group. While there is no room, the calling thread runs work of the pool, which
    /// may hold what is in use: there may be no other thread. What is in use must not wait for these bytes, nor be held by the
    /// calling thread. Once the group has failed, there is room.
    public func share(_ bytes: [UInt8], of budget: ByteBudget) -> ByteBudget.Share {
        while !hasFailed {
            if let share = budget.takeFree(bytes) { return share }
            // Not for longer: another thread may submit work that only this one can run.
            if !pool.help() { budget.waitForRoom(for: bytes.count, forNanoseconds: Self.pauseNanoseconds) }
        }
        return budget.take(bytes)
    }

    private static let pauseNanoseconds: UInt64 = 20_000_000

    /// Records a failure of the submitting thread. The first one counts.
    public func fail(_ error: BackupError) {
        state.withLock { if $0.failure == nil { $0.failure = error } }
    }

    /// Waits for all submitted work, including work that other work of the group submitted.
    /// - Throws: the first failure.
    public func wait() throws(BackupError) {
        while state.withLock({ $0.unfinishedCount > 0 }), pool.help() {}
        let failure = state.wait(until: { $0.unfinishedCount == 0 }, { $0.failure })
        if let failure { throw failure }
    }
}

/// Work of a group that must run in submission order, one piece at a time, on any free thread.
///
/// After a failure of the group its work is dropped, not run: resources it holds (a block of a pool) return to those who wait for
/// them.
public final class SerialLane: Sendable {
    /// A thrown error is that of the group, and ends it.
    public typealias Work = @Sendable () throws(BackupError) -> Void

    private struct State {
        var waiting: [Work] = []
        var isRunning = false
    }

    private let group: WorkGroup
    private let state = Mutex(State())

    public init(_ group: WorkGroup) { self.group = group }

    /// Never blocks. The lane does not bound its queue: bound the resources that the work needs.
    public func submit(_ work: @escaping Work) {
        let mustStart = state.withLock { state in
            state.waiting.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { group.submitRegardless { [self] in run() } }
    }

    private func run() {
        while true {
            let works = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isRunning = false }
                return state.waiting
            }
            if works.isEmpty { return }
            for work in works where !group.hasFailed {
                do throws(BackupError) {
                    try work()
                } catch {
                    group.fail(error)
                }
            }
        }
    }
}

/// A bounded pool of reusable buffers of one size: a caller that needs one more blocks until another is returned.
public final class BlockPool: Sendable {
    /// A buffer; it returns to its pool with its last reference.
    ///
    /// `@unchecked Sendable`: the thread that took it fills it before other threads see it, and no thread writes to it after
    /// that.
    public final class Block: @unchecked Sendable {
        private let memory: UnsafeMutableRawBufferPointer
        private let pool: BlockPool
        /// The number of bytes in use.
        public var count = 0

        fileprivate init(_ memory: UnsafeMutableRawBufferPointer, _ pool: BlockPool) {
            self.memory = memory
            self.pool = pool
        }

        deinit { pool.giveBack(memory) }

        /// The bytes in use.
        public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
        /// All of the block, for the thread that fills it.
        public var writableBytes: UnsafeMutableRawBufferPointer { memory }
    }

    /// `@unchecked Sendable`: memory that has no owner at the moment.
    private struct Memory: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer
    }

    private struct State {
        var free: [Memory] = []
        var usedCount = 0
    }

    private let blockSizeBytes: Int
    private let limit: Int
    private let state = Monitor(State())

    /// - Parameter limit: the number of blocks that may be in use.
    public init(blockSizeBytes: Int, limit: Int) {
        self.blockSizeBytes = blockSizeBytes
        self.limit = limit
    }

    deinit {
        for memory in state.withLock({ $0.free }) { memory.buffer.deallocate() }
    }

    /// Blocks while all blocks are in use. A thread that submits the work that holds the blocks must use `WorkGroup.take`.
    public func take() -> Block {
        let limit = limit
        return block(
            state.wait(until: { $0.usedCount < limit }) { state in
                state.usedCount += 1
                return state.free.popLast()
            })
    }

    /// - Returns: `nil` while all blocks are in use.
    func takeFree() -> Block? {
        let limit = limit
        let taken = state.withLock { state -> Memory?? in
            guard state.usedCount < limit else { return nil }
            state.usedCount += 1
            return .some(state.free.popLast())
        }
        return taken.map { block($0) }
    }

    private func block(_ free: Memory?) -> Block {
        Block(free?.buffer ?? .allocate(byteCount: blockSizeBytes, alignment: 4_096), self)
    }

    private func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
        let memory = Memory(buffer: memory)
        state.changeWakingOne { state in
            state.usedCount -= 1
            state.free.append(memory)
        }
    }
}
