import Synchronization

/// How many points were tried, and what became of them; printed for each scenario and in total.
final class Tally: Sendable {
    struct Counts: Sendable, CustomStringConvertible {
        /// Runs that a fault hit.
        var runs = 0
        /// Of restores: what data they have left behind.
        var old = 0
        var new = 0
        /// Runs without the call that was to go wrong: what is told of progress hangs on the time it takes.
        var missed = 0

        var description: String {
            "\(runs) runs" + (old + new == 0 ? "" : ": \(old) old, \(new) new")
                + (missed == 0 ? "" : "; \(missed) points were not met again")
        }

        static func + (left: Counts, right: Counts) -> Counts {
            Counts(
                runs: left.runs + right.runs, old: left.old + right.old, new: left.new + right.new,
                missed: left.missed + right.missed)
        }
    }

    static let shared = Tally()

    private let all = Mutex(Counts())

    func add(_ counts: Counts, _ description: String) {
        all.withLock { $0 = $0 + counts }
        print("crash matrix: \(description): \(counts)")
    }

    func printTotal() {
        let total = all.withLock { $0 }
        print("crash matrix: in total so far \(total) (\(Selection.current))")
    }
}
