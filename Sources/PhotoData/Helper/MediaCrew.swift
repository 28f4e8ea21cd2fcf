import BackupCore
import SystemIO

/// Several helpers that read many files at the same time, whose results come in the order of the files.
public enum MediaCrew {
    /// How far a thread may be ahead of the results that were taken, for each helper: a large photo must not hold up the others.
    private static let aheadCount = 16

    /// What the threads share.
    private struct State<Result> {
        var next = 0
        var taken = 0
        var results: [Int: Result] = [:]
        var isEnding = false
    }

    /// Calls `work` for 0 up to `count` - 1 on as many threads as there are helpers, and `take` with what it has returned: in
    /// order, on the calling thread.
    /// - Parameters:
    ///   - helperCount: at least 1. With one, or when the system starts no thread, everything is done by the calling thread.
    ///   - work: part of the operation of the calling thread. It reports its errors itself.
    /// - Throws: what `take` throws, and `interrupted`; work that has not begun then does not begin.
    public static func forEach<Result: Sendable>(
        count: Int, helperCount: Int, _ work: @escaping @Sendable (Int, MediaHelper) -> Result,
        _ take: (Result) throws(BackupError) -> Void
    ) throws(BackupError) {
        let state = Monitor(State<Result>())
        let cancellation = Cancellation.current ?? Cancellation()
        let limit = helperCount * aheadCount
        var threads: [SystemThread] = []
        for _ in 0..<(helperCount > 1 ? min(helperCount, count) : 0) {
            // A helper ends with the thread that started it.
            let thread = try? SystemThread {
                let helper = MediaHelper()
                while let number = next(in: state, count: count, limit: limit) {
                    guard let result = try? cancellation.run({ () throws(BackupError) in work(number, helper) }) else { return }
                    state.changeWakingAll { $0.results[number] = result }
                }
            }
            if let thread { threads.append(thread) }
        }
        defer {
            state.changeWakingAll { $0.isEnding = true }
            for thread in threads { thread.join() }
        }
        let own = threads.isEmpty ? MediaHelper() : nil
        for number in 0..<count {
            try Cancellation.check()
            if let own {
                try take(work(number, own))
            } else {
                let result = state.wait(until: { $0.results[number] != nil }, { $0.results.removeValue(forKey: number) })
                state.changeWakingAll { $0.taken += 1 }
                if let result { try take(result) }
            }
        }
    }

    /// - Returns: the number of the next file; `nil` when there is none, or no more are wanted.
    private static func next<Result>(in state: Monitor<State<Result>>, count: Int, limit: Int) -> Int? {
        state.wait(until: { $0.isEnding || $0.next >= count || $0.next < $0.taken + limit }) { state in
            guard !state.isEnding, state.next < count else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }
}
