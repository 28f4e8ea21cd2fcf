import Glibc
import TestSupport

/// Which of the points are tried. `BACKUPFS_CRASH_MATRIX` is `all`, or N for every Nth from a random one on, or N:M from the Mth
/// on; without it a choice that takes a minute or two: a 48th of the kills of restores with media, and some of the others.
/// `BACKUPFS_CRASH_ONLY` is the beginning of a line that the matrix prints (`merge, archive with media: kill`): only what has it
/// is tried.
struct Selection: CustomStringConvertible, Sendable {
    let stride: Int
    /// Of kills of restores with media.
    let strideOfKills: Int
    /// Of crashes whose recovery is disturbed, which is many runs for each.
    let strideOfCrashes: Int
    /// After so many runs one is looked at more closely, which takes as long as the run itself.
    let strideOfThorough: Int
    let offset: Int
    private let only: String?
    /// Whether the environment says nothing.
    let isDefault: Bool

    static let current = Selection()

    private init() {
        let parts = (Machine.environment("BACKUPFS_CRASH_MATRIX") ?? "").split(separator: ":")
        isDefault = parts.isEmpty
        let number = parts.first.flatMap { Int($0) }
        stride = isDefault ? 96 : max(1, number ?? 1)
        strideOfKills = isDefault ? 48 : stride
        strideOfCrashes = isDefault ? 384 : stride * 4
        strideOfThorough = isDefault ? 12 : 4
        offset = parts.count > 1 ? max(0, (Int(parts[1]) ?? 1) - 1) : Int.random(in: 0..<stride * 4)
        only = Machine.environment("BACKUPFS_CRASH_ONLY")
    }

    func wants(_ scenario: Scenario, _ fault: Fault, of kind: String? = nil) -> Bool {
        wants((kind.map { "\($0) " } ?? "") + scenario.name, fault)
    }

    func wants(_ name: String, _ fault: Fault) -> Bool { only.map { "\(name): \(fault.rawValue),".hasPrefix($0) } ?? true }

    func choose(_ plans: [PlannedFault], isImportant: Bool = false) -> [PlannedFault] {
        let step = isImportant && plans.first?.fault == .kill ? strideOfKills : stride
        return Swift.stride(from: offset % step, to: plans.count, by: step).map { plans[$0] }
    }

    /// A quarter of the scenarios, another one in each run, unless the environment says which points are tried.
    func chooseScenarios<Scenario>(_ scenarios: [Scenario]) -> [Scenario] {
        isDefault && only == nil ? Rounds.part(of: scenarios, oneIn: 4) : scenarios
    }

    /// Points of operations on the repository, of which there are many: a choice has one point of each second one, and not the
    /// same in all of them.
    func chooseFew(_ plans: [PlannedFault], of name: String) -> [PlannedFault] {
        guard isDefault, !plans.isEmpty else { return choose(plans) }
        let shift = offset + name.utf8.reduce(0) { $0 + Int($1) }
        return shift % 2 == 0 ? [plans[shift % plans.count]] : []
    }

    /// Where a restore is killed whose recovery is then disturbed: from its journal on, at calls that leave another state behind.
    func crashes(_ calls: [RecordedCall]) -> [PlannedFault] {
        let kills = PlannedFault.all(.kill, of: calls)
        let numbers = calls.indices.drop { !calls[$0].path.hasSuffix("/restore.journal") }.filter { number in
            !["-shm", ".lock"].contains { calls[number].path.hasSuffix($0) } && !calls[number].path.contains("/spool/")
        }
        return Swift.stride(from: offset % strideOfCrashes % max(1, numbers.count), to: numbers.count, by: strideOfCrashes).map {
            kills[numbers[$0]]
        }
    }

    /// Whether only the points that `BACKUPFS_CRASH_ONLY` names are tried, which can be none of a suite's.
    var isRestricted: Bool { only != nil }

    var description: String {
        stride == 1
            ? "all points"
            : "every \(stride)th point, BACKUPFS_CRASH_MATRIX=\(stride):\(offset + 1); all of them: make crash-matrix"
    }
}
