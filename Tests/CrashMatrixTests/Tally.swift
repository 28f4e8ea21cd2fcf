import Synchronization
import Testing

/// How many points were tried, and what became of them; printed for each scenario and in total.
final class Tally: Sendable {
    struct Counts: Sendable, CustomStringConvertible {
        /// Runs that a fault hit.
        var runs = 0
        /// Of restores: what data they have left behind.
        var old = 0
        var new = 0
        /// Runs that never made the call that was to fail: how often progress is written depends on the time a run takes.
        var missed = 0

        /// Whether so many points were missed that the runs prove little. A single miss proves nothing, so a choice of one point
        /// may miss it.
        var areTooFew: Bool { missed > 1 + (runs + missed) / 4 }

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
        if counts.areTooFew { Issue.record("crash matrix: \(description): too many points were missed: \(counts)") }
        print("crash matrix: \(description): \(counts)")
    }

    /// Called when a suite has ended: a suite without a single run has tested nothing.
    func printTotal() {
        let total = all.withLock { $0 }
        if total.runs == 0, !Selection.current.isRestricted {
            Issue.record("crash matrix: no fault was reached in any run: \(total)")
        }
        print("crash matrix: in total so far \(total) (\(Selection.current))")
    }
}
