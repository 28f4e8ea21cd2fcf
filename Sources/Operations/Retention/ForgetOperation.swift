import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Removes backups by a policy or by name. For a time they can be brought back; a prune after that frees their space.
public struct ForgetOperation: Sendable {
    /// What is kept, what is removed, and why.
    public struct Plan: Sendable {
        /// The decision about one backup.
        public struct Item: Sendable {
            public let snapshot: Snapshot
            /// Why it is kept; empty when it is removed.
            public let reasons: [Message]
        }

        /// Oldest first.
        public let items: [Item]
        /// Previously removed backups that are given up for good.
        public internal(set) var givenUp: [Snapshot] = []
        /// The retention rule in the words of the settings; empty for named backups.
        let rule: String
        /// Backups kept only because the newest one holds much less.
        let held: [Snapshot]

        init(items: [Item], rule: String = "", held: [Snapshot] = []) {
            self.items = items
            self.rule = rule
            self.held = held
        }

        /// Why an item is kept or removed.
        public func reasons(of item: Item) -> [Message] {
            if !item.reasons.isEmpty { return item.reasons }
            return rule.isEmpty ? [] : ["kept by none of: \(rule)"]
        }

        /// Whether there is nothing to remove.
        public var isEmpty: Bool { removed.isEmpty && givenUp.isEmpty }
        /// Those for which no rule gives a reason to keep them.
        public var removed: [Snapshot] { items.filter { $0.reasons.isEmpty }.map(\.snapshot) }
        /// Number of the others.
        public var keptCount: Int { items.count - removed.count }
    }

    let store: Store

    public init(store: Store) { self.store = store }

    /// By the rule in the store's settings, or else in the app's definition. Does not touch safety backups.
    /// - Throws: `usage` when there is no rule; `notPermitted` when the source may belong to another store.
    public func planByRule() throws(BackupError) -> Plan {
        try store.requireClaimedSource()
        guard store.settings.hasEnd else { throw StoreSettings.cutOff(store.paths.settings) }
        guard let plan = try planByRuleIfAny() else {
            throw BackupError(
                .usage, "neither the settings nor the app \(store.definition.name) have a rule which backups are kept",
                remedy: "Give --keep-last or another --keep option, or the names of backups.")
        }
        return plan
    }

    /// Whether the rule would remove a backup of this store that is being brought back, either now or after the next backup.
    func removesSoon(returned snapshot: Snapshot) throws(BackupError) -> Bool {
        guard store.settings.retention.isOn else { return false }
        // The rule will apply once the register is readable again.
        if store.repository.registerError != nil { return true }
        for expectsNext in [false, true] {
            let plan = try planByRuleIfAny(expectsNext: expectsNext, returned: snapshot)
            if plan?.removed.contains(where: { $0.id == snapshot.id }) == true { return true }
        }
        return false
    }

    /// Why it is unknown which backups are pinned; `nil` while it is known.
    private var registerProblem: BackupError? {
        store.repository.registerError.map {
            BackupError(
                $0.code, "no old backup was removed, since it is not known which are pinned: \($0.message)", path: $0.path,
                remedy: $0.remedy
                    ?? "Copy this file from another copy of the repository, or rebuild it with: backupfs check --repair")
        }
    }

    /// - Parameters:
    ///   - made: the backup that was just made, which is kept whatever the rule says; `nil` if none was.
    ///   - expectsNext: whether to assume one more backup of each channel, made now.
    ///   - returned: a removed backup that is being brought back.
    private func planByRuleIfAny(
        justMade made: SnapshotID? = nil, expectsNext: Bool = false, returned: Snapshot? = nil
    ) throws(BackupError) -> Plan? {
        let settings = store.settings.retention
        let definition = store.definition.retention
        guard !settings.policy.isEmpty || definition.keepLast != nil || definition.keepWithinDays != nil else { return nil }
        let now = SystemClock.now()
        let rule = settings.policy.isEmpty ? Self.rule(definition) : Self.rule(settings.policy)
        let plan = try plan(
            rule, counting: settings.counted ?? definition.counted, adding: returned.map { [$0] } ?? [],
            countedTimes: { RetentionAge.countedTimes(of: $0, now: now) }
        ) { candidates in
            let next = RetentionCandidate(name: "next", creationTime: now, tags: [], isPinned: false, sequence: .max)
            let candidates = expectsNext ? candidates + [next] : candidates
            return settings.policy.isEmpty
                ? definition.decide(candidates, now: now) : settings.policy.decide(candidates, now: now)
        }
        return guarded(plan) { snapshot in
            if snapshot.id == made { return "just made" }
            return store.mayRemoveByRule(snapshot) ? nil : "does not say which store made it"
        }
    }

    /// The same plan without the removals that a rule must not do by itself.
    /// - Parameter reasonToKeep: why a backup is kept whatever the rule says; `nil` if it may be removed.
    private func guarded(
        _ plan: Plan, _ copy: Repository? = nil, reasonToKeep: (Snapshot) -> Message? = { _ in nil }
    ) -> Plan {
        guard !plan.removed.isEmpty else { return plan }
        let fuller = RetentionGuard(store: store, copy: copy).heldBackups(among: plan.items.map(\.snapshot))
        var held: [Snapshot] = []
        let items = plan.items.map { item in
            guard item.reasons.isEmpty else { return item }
            if let reason = reasonToKeep(item.snapshot) { return Plan.Item(snapshot: item.snapshot, reasons: [reason]) }
            guard fuller.contains(item.snapshot.id) else { return item }
            held.append(item.snapshot)
            return Plan.Item(snapshot: item.snapshot, reasons: ["holds much more than the newest backup"])
        }
        return Plan(items: items, rule: plan.rule, held: held)
    }

    /// The outcome of a removal by rule.
    struct Removal {
        var removed: [Snapshot] = []
        /// Why a backup is kept that the rule would remove, and suspected problems.
        var warnings: [BackupWarning] = []
    }

    /// Removes what the rule no longer keeps after a backup, and reports suspected problems, even without a rule. For the holder
    /// of the operation lock.
    func removeOld(after result: BackupResult, _ report: ProgressHandler) throws(BackupError) -> Removal {
        let retentionGuard = RetentionGuard(store: store)
        let problem = retentionGuard.problem(after: result, now: SystemClock.now())
        func removingNothing(_ warning: BackupWarning? = nil) -> Removal {
            Removal(warnings: [problem, warning].compactMap { $0 })
        }
        // Even without a rule: the repository may be incomplete.
        if let problem = registerProblem { return removingNothing(BackupWarning(.labels, problem.summary)) }
        guard store.settings.retention.isOn, !store.isQuiet else { return removingNothing() }
        guard let plan = try planByRuleIfAny(justMade: result.snapshot.id) else { return removingNothing() }
        // Another store may have taken over the source during the backup.
        if let notice = store.successorNotice { return removingNothing(BackupWarning(.successor, notice)) }
        guard store.settings.hasEnd else {
            return removingNothing(BackupWarning(.settings, StoreSettings.cutOff(store.paths.settings).summary))
        }
        // A problem deserves a warning even if nothing would be removed.
        if let reason = problem ?? retentionGuard.incompleteness(of: result) {
            return Removal(warnings: [BackupWarning(reason.kind, "no old backups were removed: \(reason.message)")])
        }
        let warnings =
            plan.held.map { BackupWarning(.held, RetentionGuard.notice(ofHeld: $0)) }
            + store.own(store.repository.snapshotsWithoutLabel()).map {
                BackupWarning(
                    .labels, "the label of the backup “\($0.name)” is missing, so it counts as pinned; see: backupfs check")
            }
        return Removal(removed: plan.removed.isEmpty ? [] : try remove(plan, report), warnings: warnings)
    }

    /// By a policy. Does not touch safety backups or other stores' backups.
    /// - Throws: `notPermitted` when the source may belong to another store.
    public func plan(_ policy: RetentionPolicy) throws(BackupError) -> Plan {
        try store.requireClaimedSource()
        let now = SystemClock.now()
        let plan = try plan(
            Self.rule(policy), counting: .all,
            countedTimes: { ClockLines.believableTimes($0.map(\.creationTime), now: now) }
        ) { candidates in policy.decide(candidates, now: now) }
        return guarded(plan)
    }

    private static func rule(_ policy: RetentionPolicy) -> String {
        policy.rule
    }

    private static func rule(_ definition: RetentionDefinition) -> String {
        let last = definition.keepLast.map { "keep-last \($0)" }
        let within = definition.keepWithinDays.map { "keep-within \($0)d" }
        return [last, within].compactMap { $0 }.joined(separator: ", ")
    }

    /// - Parameters:
    ///   - others: backups that are considered, too. One that is in the repository as well counts once, and as pinned if it is
    ///     pinned in either place.
    ///   - countedTimes: receives backups, oldest first.
    private func plan(
        _ rule: String, counting counted: RetentionScope, adding others: [Snapshot] = [],
        countedTimes: ([Snapshot]) -> [Timestamp],
        _ decide: ([RetentionCandidate]) -> [RetentionDecision]
    ) throws(BackupError) -> Plan {
        try store.repository.refresh()
        if let problem = registerProblem { throw problem }
        let snapshots = store.own(Self.union(store.repository.snapshots(kind: .snapshot), others))
        let times = Dictionary(zip(snapshots.map(\.id), countedTimes(snapshots))) { first, _ in first }
        var reasons: [SnapshotID: [Message]] = [:]
        // Each channel separately.
        for channel in Channel.allCases {
            let candidates = snapshots.filter { $0.channel == channel && counted.includes($0) }
            let decisions = decide(
                candidates.map {
                    RetentionCandidate(
                        name: $0.name, creationTime: $0.creationTime, tags: $0.tags, isPinned: $0.isPinned,
                        sequence: $0.sequence, countedTime: times[$0.id])
                })
            for (candidate, decision) in zip(candidates, decisions) { reasons[candidate.id] = decision.reasons }
        }
        if let newest = snapshots.last, reasons[newest.id]?.isEmpty == true { reasons[newest.id] = ["newest backup"] }
        return Plan(
            items: snapshots.map { Plan.Item(snapshot: $0, reasons: reasons[$0.id] ?? [counted.reasonToKeepOthers]) }, rule: rule)
    }

    private static func union(_ snapshots: [Snapshot], _ others: [Snapshot]) -> [Snapshot] {
        let known = Set(snapshots.map(\.id))
        let pinned = Set(others.filter(\.isPinned).map(\.id))
        return snapshots.map { pinned.contains($0.id) ? $0.pinned : $0 } + others.filter { !known.contains($0.id) }
    }

    /// What the rules of a remote keep and remove of all own backups that are here or there, as the store's own rules would.
    /// - Parameter copy: the remote's copy of the repository; `nil` when it is still empty.
    /// - Throws: as `plan`.
    func plan(forRemote policy: RetentionPolicy, _ copy: Repository?) throws(BackupError) -> Plan {
        let now = SystemClock.now()
        let plan = try plan(
            policy.rule, counting: store.settings.retention.counted ?? store.definition.retention.counted,
            adding: copy?.snapshots(kind: .snapshot) ?? [], countedTimes: { RetentionAge.countedTimes(of: $0, now: now) }
        ) { policy.decide($0, now: now) }
        return guarded(plan, copy) { $0.source == nil ? "does not say which store made it" : nil }
    }

    /// Carries out a plan, each removal durably before the next. Skips backups that were pinned or removed meanwhile.
    /// - Parameters:
    ///   - kind: the operation's name for the user.
    ///   - isFinal: whether the backups can no longer be brought back.
    /// - Throws: `busy`; the errors of a removal: earlier removals are not undone.
    /// - Returns: the removed backups.
    public func run(
        _ plan: Plan, as kind: OperationKind = .forget, isFinal: Bool = false, progress: ProgressHandler?
    ) throws(BackupError) -> [Snapshot] {
        try store.recorded(kind) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            let remoteLock = try store.lockRemote()
            defer { withExtendedLifetime((lock, remoteLock)) {} }
            let removed = try store.monitor.run(kind.rawValue, phase: "Removing backups...", progress) {
                (report) throws(BackupError) in
                isFinal ? try removeFinally(plan, report) : try remove(plan, report)
            }
            facts.removedCount = removed.count
            if removed.isEmpty { facts.result = .skipped }
            if removed.count == 1 { facts.snapshot = removed[0].name.description }
            return removed
        }
    }

    private func remove(_ plan: Plan, _ report: ProgressHandler) throws(BackupError) -> [Snapshot] {
        var removal = RemovalProgress(plan, store)
        try store.repository.refresh()
        store.updateSource()
        try store.repository.withdrawSnapshots(plan.removed.map(\.id), at: SystemClock.now()) { (_) throws(BackupError) in
            try removal.willRemove(report)
        } didRemove: { (id) throws(BackupError) in
            try removal.didRemove(id)
        }
        return removal.removed
    }

    private func removeFinally(_ plan: Plan, _ report: ProgressHandler) throws(BackupError) -> [Snapshot] {
        var removal = RemovalProgress(plan, store)
        try store.repository.refresh()
        try store.repository.removeSnapshotsForGood(plan.removed.map(\.id)) { (_) throws(BackupError) in
            try removal.willRemove(report)
        } didRemove: { (id) throws(BackupError) in
            try removal.didRemove(id)
        }
        try store.repository.giveUpSnapshots(plan.givenUp.map(\.id)) { (_) throws(BackupError) in
            try removal.willRemove(report)
        } didRemove: { (id) throws(BackupError) in
            try removal.didRemove(id)
        }
        return removal.removed
    }
}

extension RetentionScope {
    fileprivate func includes(_ snapshot: Snapshot) -> Bool {
        switch self {
        case .automatic: snapshot.tags.contains(Snapshot.automaticTag)
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
