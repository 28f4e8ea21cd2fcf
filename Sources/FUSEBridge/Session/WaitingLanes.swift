import Synchronization
import SystemIO
import VirtualTree

/// The lanes of a mount: one for each thing that requests may wait for.
final class WaitingLanes: Sendable {
    /// Threads for requests that wait for none of them. A backup or a restore occupies one for its whole duration.
    private static let freeThreadCount = 4
    private static let commonWaits: [RequestWait] = [
        .app, .store, .drop, .repository, .checksums, .change, .network, .star, .job,
    ]

    private struct State {
        /// Those of copy sets: each set has its own, so that one whose disk does not respond delays no other one.
        var ofSets: [RequestWait: WaitingLane] = [:]
        var all: [WaitingLane]
    }

    private let common: [RequestWait: WaitingLane]
    private let state: Monitor<State>
    private let threadCount: Atomic<Int>

    init() {
        common = Dictionary(uniqueKeysWithValues: Self.commonWaits.map { ($0, Self.make($0)) })
        state = Monitor(State(all: Array(common.values)))
        threadCount = Atomic(Self.commonWaits.reduce(Self.freeThreadCount) { $0 + Self.limit(of: $1) })
    }

    /// Requests served concurrently: as many as all lanes together, and some more. It grows with the copy sets in use.
    var maximumThreadCount: Int { threadCount.load(ordering: .relaxed) }

    var all: [WaitingLane] { state.withLock { $0.all } }

    func lane(for wait: RequestWait) -> WaitingLane {
        if let lane = common[wait] { return lane }
        return state.withLock { state in
            if let lane = state.ofSets[wait] { return lane }
            let lane = Self.make(wait)
            state.ofSets[wait] = lane
            state.all.append(lane)
            threadCount.add(Self.limit(of: wait), ordering: .relaxed)
            return lane
        }
    }

    /// The threads for requests that wait for this.
    private static func limit(of wait: RequestWait) -> Int {
        switch wait {
        case .app, .repository, .copySet: 8
        case .network: 6
        case .store, .drop, .checksums, .change, .star, .job, .copySetView: 4
        }
    }

    private static func make(_ wait: RequestWait) -> WaitingLane {
        let isOfSet = if case .copySet = wait { true } else { false }
        return WaitingLane(
            limit: limit(of: wait), idleSeconds: StallLimits.idleSeconds(of: wait),
            hurriedSeconds: StallLimits.hurriedSeconds(of: wait), seesKilledProcesses: isOfSet)
    }
}
