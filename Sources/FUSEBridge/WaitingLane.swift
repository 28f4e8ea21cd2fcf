import Glibc
import SystemIO

/// Keeps requests that may wait for something else (for the app's database, for a disk, for checksums) from taking up all threads. Up to a limit they
/// are served like any other; the rest stand in a queue, without a thread, until one of those has been answered.
///
/// It knows what is being served, so that a request can be answered in the place of a thread that is stuck: the kernel drops the second answer.
final class WaitingLane: Sendable {
    /// A request that is being served.
    private struct Served {
        let header: RequestHeader
        let activity: ThreadActivity
        /// Its program has got a signal.
        var isInterrupted = false
        /// It has been answered in its thread's place.
        var isAnswered = false
        /// Another program waits until it is answered.
        var isInTheWay = false
        /// What its thread had done at the last look, and since when it is the same.
        var usedNanoseconds: UInt64?
        var idleSinceNanoseconds: UInt64 = 0
    }

    private struct State {
        var served: [UInt64: Served] = [:]
        var queue: [[UInt8]] = []
    }

    private let limit: Int
    /// For how long a thread may do nothing at all before its request is given up.
    private let idleNanoseconds: UInt64?
    /// The same where others wait for its answer; `nil` where they never do.
    private let hurriedNanoseconds: UInt64?
    private let state = Monitor(State())

    /// - Parameters:
    ///   - idleSeconds: `nil` where nothing is given up: it may wait for another thread.
    ///   - hurriedSeconds: `nil` where a request that is served blocks no other one in the kernel.
    init(limit: Int, idleSeconds: Double?, hurriedSeconds: Double?) {
        self.limit = limit
        hurriedNanoseconds = hurriedSeconds.map { UInt64($0 * 1e9) }
        idleNanoseconds = idleSeconds.map { UInt64($0 * 1e9) }
    }

    /// - Parameter activity: of the calling thread, which serves the request.
    /// - Returns: whether the request is to be served now; `leave` must follow. Otherwise it has been put into the queue.
    func enter(_ header: RequestHeader, _ request: UnsafeRawBufferPointer, _ activity: ThreadActivity) -> Bool {
        state.withLock { state in
            if state.served.count < limit {
                state.served[header.number] = Served(header: header, activity: activity)
                return true
            }
            state.queue.append(Array(request))
            return false
        }
    }

    /// Takes one out of the queue that is not to be served any more.
    /// - Returns: whether it was there.
    func remove(_ number: UInt64) -> Bool { state.withLock { $0.queue.remove(number) } }

    /// - Parameters:
    ///   - number: of the request that has been served.
    ///   - isEnding: then what stands in the queue stays unanswered: the kernel ends it with the mount.
    /// - Returns: the request to be served next in the place of the one that has been answered; `leave` must follow again.
    func leave(_ number: UInt64, _ activity: ThreadActivity, isEnding: Bool) -> [UInt8]? {
        state.withLock { state in
            state.served[number] = nil
            if isEnding { state.queue = [] }
            guard !state.queue.isEmpty else { return nil }
            let next = state.queue.removeFirst()
            let header = next.withUnsafeBytes { RequestHeader($0) }
            state.served[header.number] = Served(header: header, activity: activity)
            return next
        }
    }

    /// Notes that a signal has come for the program that waits.
    /// - Returns: whether the request is being served here.
    func interrupt(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.served[number]?.isAnswered == false else { return false }
            state.served[number]?.isInterrupted = true
            return true
        }
    }

    /// Notes that a folder has been opened, which the kernel does not let it list before a change of it is answered.
    /// - Returns: whether one is being served.
    func hurry(_ folder: UInt64) -> Bool {
        guard hurriedNanoseconds != nil else { return false }
        return state.withLock { state in
            var isServed = false
            for (number, one) in state.served where one.header.node == folder && !one.isAnswered {
                state.served[number]?.isInTheWay = true
                isServed = true
            }
            return isServed
        }
    }

    /// Whether another program waits until a request is answered that is being served.
    var isInTheWay: Bool { state.withLock { $0.served.values.contains { $0.isInTheWay && !$0.isAnswered } } }

    /// Those whose programs have got a signal and wait all the same.
    var interrupted: [RequestHeader] {
        state.withLock { state in state.served.values.filter { $0.isInterrupted && !$0.isAnswered }.map(\.header) }
    }

    /// Takes over the answer to a request that is being served.
    /// - Returns: false when it has been answered.
    func takeOver(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.served[number]?.isAnswered == false else { return false }
            state.served[number]?.isAnswered = true
            return true
        }
    }

    /// Takes over the answers to requests whose threads have done nothing for too long; and to those in the queue, when no thread is left for them.
    func takeOverStalled() -> [RequestHeader] {
        guard let idleNanoseconds else { return [] }
        let now = SystemClock.monotonicNanoseconds()
        return state.withLock { state in
            var stalled: [RequestHeader] = []
            for (number, one) in state.served {
                let used = one.activity.usedNanoseconds
                if one.usedNanoseconds != used || one.activity.waitsForProcessor {
                    state.served[number]?.usedNanoseconds = used
                    state.served[number]?.idleSinceNanoseconds = now
                } else if !one.isAnswered,
                    now - one.idleSinceNanoseconds >= (one.isInTheWay ? hurriedNanoseconds ?? idleNanoseconds : idleNanoseconds)
                {
                    state.served[number]?.isAnswered = true
                    stalled.append(one.header)
                }
            }
            if state.served.count >= limit, state.served.values.allSatisfy({ $0.isAnswered }) {
                stalled += state.queue.map { $0.withUnsafeBytes { RequestHeader($0) } }
                state.queue = []
            }
            return stalled
        }
    }
}
