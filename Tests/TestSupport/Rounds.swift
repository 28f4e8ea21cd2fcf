import Testing

/// The seeds of a test that repeats one check with random data. `make test` takes a part of them, another one in each run;
/// `make test-all` (`BACKUPFS_ROUNDS=all`) takes all of them. A failure names its seed as the argument of the test.
public enum Rounds {
    /// - Parameters:
    ///   - count: how many seeds there are: 0 up to `count` - 1.
    ///   - step: one of so many is tried.
    /// - Returns: at least one seed.
    public static func seeds(_ count: UInt64, oneIn step: UInt64) -> [UInt64] {
        precondition(count > 0 && step > 0, "a test without rounds tests nothing")
        guard Machine.environment("BACKUPFS_ROUNDS") != "all" else { return Array(0..<count) }
        return Array(stride(from: UInt64.random(in: 0..<min(step, count)), to: count, by: Int(step)))
    }

    /// Chooses among moments that occur one after another: every `step`-th one, beginning with a random one. Of `step` moments,
    /// it chooses at least one.
    public struct Moments {
        private let step: UInt64
        private var number: UInt64

        public init(oneIn step: UInt64) {
            precondition(step > 0, "a test without rounds tests nothing")
            self.step = Machine.environment("BACKUPFS_ROUNDS") == "all" ? 1 : step
            number = UInt64.random(in: 0..<self.step)
        }

        public mutating func takesNext() -> Bool {
            number += 1
            return number % step == 0
        }
    }

    /// Whether the next one of many moments is tried, for moments that are found one after another.
    public static func takesNext(oneIn step: UInt64) -> Bool {
        Machine.environment("BACKUPFS_ROUNDS") == "all" || UInt64.random(in: 0..<step) == 0
    }

    /// The same for cases that are given one by one, such as the points at which a program can be killed.
    public static func part<Case>(of cases: [Case], oneIn step: UInt64) -> [Case] {
        seeds(UInt64(cases.count), oneIn: step).map { cases[Int($0)] }
    }

    /// Whether a campaign takes part in this run.
    static func isTurn(of name: String, oneIn step: UInt64) -> Bool {
        guard Machine.environment("BACKUPFS_ROUNDS") != "all",
            let rotation = Machine.environment("BACKUPFS_ROTATION").flatMap({ UInt64($0) })
        else { return true }
        // FNV-1a: the same in each run, unlike Swift's own.
        let hash = name.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return ((hash >> 32) &+ rotation) % step == 0
    }
}

extension Trait where Self == ConditionTrait {
    /// A campaign: a suite that repeats a check over many inputs, faults or moments. In `make test`, one of `step` runs take it.
    /// `BACKUPFS_ROTATION` is the number of the run; without it, and in `make test-all`, all campaigns take part.
    public static func rotating(oneIn step: UInt64, file: String = #fileID) -> Self {
        .enabled(if: Rounds.isTurn(of: file, oneIn: step), "a later run of `make test` takes this campaign")
    }
}
