import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Removes backups by a policy or by name. Their room is given back by a prune.
public struct ForgetOperation: Sendable {
    /// What stays, what goes and why.
    public struct Plan: Sendable {
        public struct Item: Sendable {
            public let snapshot: Snapshot
            /// Why it is kept; empty when it is removed.
            public let reasons: [Message]
        }

        /// Oldest first.
        public let items: [Item]

        public var removed: [Snapshot] { items.filter { $0.reasons.isEmpty }.map(\.snapshot) }
        public var keptCount: Int { items.count - removed.count }
    }

    private let store: Store

    public init(store: Store) { self.store = store }

    /// By what the store's settings ask for, or else the app's definition. Safety backups are not touched.
    /// - Throws: `usage` when they ask for nothing.
    public func planByRule() throws(BackupError) -> Plan {
        guard let plan = try planByRuleIfAny() else {
            throw BackupError(
                .usage, "neither the settings nor the app \(store.definition.name) have a rule which backups are kept",
                remedy: "Give --keep-last or another --keep option, or the names of backups.")
        }
        return plan
    }

    private func planByRuleIfAny() throws(BackupError) -> Plan? {
        let settings = store.settings.retention
        let definition = store.definition.retention
        guard !settings.policy.isEmpty || definition.keepLast != nil || definition.keepWithinDays != nil else { return nil }
        return try plan(counting: settings.counted ?? definition.counted) { candidates in
            let now = SystemClock.now()
            return settings.policy.isEmpty
                ? definition.decide(candidates, now: now) : settings.policy.decide(candidates, now: now)
        }
    }

    /// Removes what the rule no longer keeps. For whoever holds the operation lock.
    /// - Returns: the backups that were removed.
    func removeOld(_ report: ProgressHandler) throws(BackupError) -> [Snapshot] {
        guard store.settings.retention.isOn, let plan = try planByRuleIfAny() else { return [] }
        return try remove(plan, report)
    }

    /// By a policy. Safety backups are not touched.
    public func plan(_ policy: RetentionPolicy) throws(BackupError) -> Plan {
        try plan(counting: .all) { candidates in policy.decide(candidates, now: SystemClock.now()) }
    }

    private func plan(
        counting counted: CountedBackups, _ decide: ([RetentionCandidate]) -> [RetentionDecision]
    ) throws(BackupError) -> Plan {
        try store.repository.refresh()
        let snapshots = store.repository.snapshots(kind: .snapshot)
        var reasons: [SnapshotID: [Message]] = [:]
        // Each channel by itself.
        for channel in Channel.allCases {
            let candidates = snapshots.filter { $0.channel == channel && counted.includes($0) }
            let decisions = decide(
                candidates.map {
                    RetentionCandidate(name: $0.name, creationTime: $0.creationTime, tags: $0.tags, isPinned: $0.isPinned)
                })
            for (candidate, decision) in zip(candidates, decisions) { reasons[candidate.id] = decision.reasons }
        }
        if let newest = snapshots.last, reasons[newest.id]?.isEmpty == true { reasons[newest.id] = ["newest backup"] }
        return Plan(items: snapshots.map { Plan.Item(snapshot: $0, reasons: reasons[$0.id] ?? [counted.reasonToKeepOthers]) })
    }

    /// All but pinned ones and safety backups.
    public func planAll() throws(BackupError) -> Plan {
        try store.repository.refresh()
        return Plan(
            items: store.repository.snapshots(kind: .snapshot).map {
                Plan.Item(snapshot: $0, reasons: $0.isPinned ? ["pinned"] : [])
            })
    }

    /// Just the named ones; a safety backup has the name that it has in `safety/`.
    /// - Throws: `notFound`; `notPermitted` for pinned ones.
    public func plan(names: [String]) throws(BackupError) -> Plan {
        var items: [Plan.Item] = []
        for name in names {
            let snapshot = try find(name)
            guard !snapshot.isPinned else {
                throw BackupError(
                    .notPermitted, "the backup is pinned; nothing was removed", path: name,
                    remedy: "Let it go first with: backupfs unpin \(name)")
            }
            if !items.contains(where: { $0.snapshot.id == snapshot.id }) {
                items.append(Plan.Item(snapshot: snapshot, reasons: []))
            }
        }
        return Plan(items: items)
    }

    private func find(_ name: String) throws(BackupError) -> Snapshot {
        do {
            return try store.snapshot(named: name)
        } catch let error where error.code == .notFound {
            let safety = store.repository.snapshots(kind: .safety)
            if let found = safety.first(where: { $0.name == FileName(name) || store.safetyFile(of: $0).name == name }) {
                return found
            }
            throw error
        }
    }

    /// Removes what a plan says, each durably before the next; what has been pinned or removed meanwhile is passed over.
    /// - Parameter kind: what whoever asks for it calls it.
    /// - Throws: `busy`; what a removal throws: what was removed before it is gone.
    /// - Returns: the backups that were removed.
    public func run(
        _ plan: Plan, as kind: OperationKind = .forget, progress: ProgressHandler?
    ) throws(BackupError) -> [Snapshot] {
        try store.recorded(kind) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            let removed = try store.monitor.run(kind.rawValue, phase: "Removing backups...", progress) {
                (report) throws(BackupError) in try remove(plan, report)
            }
            facts.removedCount = removed.count
            if removed.isEmpty { facts.result = .skipped }
            if removed.count == 1 { facts.snapshot = removed[0].name.description }
            return removed
        }
    }

    private func remove(_ plan: Plan, _ report: ProgressHandler) throws(BackupError) -> [Snapshot] {
        try store.repository.refresh()
        var removed: [Snapshot] = []
        for snapshot in plan.removed {
            try Cancellation.check()
            guard let now = store.repository.snapshot(id: snapshot.id), !now.isPinned else { continue }
            report(
                OperationProgress(
                    phase: "Removing backups...", processedItems: UInt64(removed.count),
                    totalItems: UInt64(plan.removed.count)))
            try store.repository.removeSnapshot(snapshot.id)
            removed.append(snapshot)
            try FaultInjection.reached("forget.removed")
        }
        return removed
    }
}

extension CountedBackups {
    fileprivate func includes(_ snapshot: Snapshot) -> Bool {
        switch self {
        case .automatic: snapshot.tags.contains(AutomaticBackup.tag)
        case .unnamed: SnapshotStamp.isStamp(snapshot.name)
        case .all: true
        }
    }

    fileprivate var reasonToKeepOthers: Message {
        switch self {
        case .automatic: "not automatic"
        case .unnamed, .all: "has a name"
        }
    }
}

extension RetentionDefinition {
    private static let secondsPerDay: Int64 = 86_400

    /// Both limits hold: what is beyond the newest `keepLast` goes, and so does what is older than `keepWithinDays` days. The newest is kept
    /// in any case, and pinned ones are.
    /// - Returns: in the order of `candidates`, which does not matter.
    public func decide(_ candidates: [RetentionCandidate], now: Timestamp) -> [RetentionDecision] {
        let order = candidates.indices.sorted { candidates[$0].creationTime > candidates[$1].creationTime }
        var reasons = [[Message]](repeating: [], count: candidates.count)
        for (position, index) in order.enumerated() {
            let candidate = candidates[index]
            var fits: [Message] = []
            var isOut = false
            if let keepLast { if position < keepLast { fits.append("newest \(keepLast)") } else { isOut = true } }
            if let keepWithinDays {
                let oldest = Timestamp(
                    seconds: now.seconds - Int64(keepWithinDays) * Self.secondsPerDay, nanoseconds: now.nanoseconds)
                if candidate.creationTime >= oldest {
                    fits.append(
                        .plural(keepWithinDays, one: "within \(keepWithinDays) day", other: "within \(keepWithinDays) days"))
                } else {
                    isOut = true
                }
            }
            if !isOut { reasons[index].append(.joined(fits)) }
            if candidate.isPinned { reasons[index].append("pinned") }
            if position == 0, reasons[index].isEmpty { reasons[index].append("newest backup") }
        }
        return candidates.indices.map { RetentionDecision(candidate: candidates[$0], reasons: reasons[$0]) }
    }
}
