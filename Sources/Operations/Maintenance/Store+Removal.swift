import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Backups that were removed, and for how long they can be brought back.
extension Store {
    /// For this store's own backups it is what its settings say, for those of another source what that one's settings say. Where those are not known it
    /// is the longer of this store's time and the standard one: a store must not cut another one's time short. That one may have taken this store's source
    /// over, and while the settings here may be cut off, those that the repository has count. A source whose document is missing or cannot be read, or
    /// whose settings do not say it in a way that is known here, may have the longest time that there is. A damaged record may be of any source: the
    /// longest time of all counts.
    public func removalGrace() throws(BackupError) -> RemovalGrace {
        let own = Self.seconds(settings.retention.undeleteDays)
        let isKnown = settings.hasEnd
        let longer = max(own, RemovalGrace.standardSeconds)
        let longestOfAll = Self.seconds(RetentionSettings.undeleteDaysRange.upperBound)
        var others: [SourceID: Int64] = [:]
        let (documents, failures) = try repository.readSources()
        for document in documents where document.storeID != identity.storeID || !isKnown {
            others[document.id] = Self.seconds(Self.undeleteDays(of: document) ?? RetentionSettings.undeleteDaysRange.upperBound)
        }
        for failure in failures where failure.id != source || !isKnown || identity.adoption != nil {
            others[failure.id] = longestOfAll
        }
        for missing in try repository.sourcesWithoutDocument() where missing != source || !isKnown {
            others[missing] = longestOfAll
        }
        // Until this store has claimed it, what both stores say counts.
        if identity.adoption != nil { others[source] = max(own, others[source] ?? own) }
        let longest = others.values.reduce(longer, max)
        let source = source
        return RemovalGrace(now: SystemClock.now()) { [others] snapshot in
            guard let snapshot else { return longest }
            guard let named = snapshot.source else { return longer }
            return others[named] ?? (named == source ? own : longestOfAll)
        }
    }

    /// A later program's settings may have names and values that are not known here: this one can be read all the same.
    /// - Returns: `nil` when it cannot.
    private static func undeleteDays(of document: SourceDocument) -> Int? {
        if let text = try? SettingsText(document.settings, path: ""), let settings = try? StoreSettings(text) {
            return settings.retention.undeleteDays
        }
        guard let value = SettingsText.value(of: .undeleteDays, in: document.settings) else { return nil }
        return try? SettingValue.number(value, in: RetentionSettings.undeleteDaysRange, of: "days")
    }

    /// For a prune, which gives up backups without naming them: the clock may have jumped ahead since the backup before, and jump back tomorrow. The backups and
    /// removals that this store made say when it was seen.
    /// - Parameter isAutomatic: whether the prune runs by itself. For a user, a month without a backup is nothing unusual.
    func removalGraceOfSeenTime(isAutomatic: Bool) throws(BackupError) -> RemovalGrace {
        let removed = try ownRemovedSnapshots().flatMap { [$0.snapshot.creationTime, $0.removalTime].compactMap(\.self) }
        let made = SnapshotKind.allCases.flatMap { ownSnapshots(kind: $0) }.map(\.creationTime)
        return try removalGrace().counting(
            clockSeenAt: made + removed, believedStepSeconds: isAutomatic ? 0 : RetentionGuard.aheadSeconds)
    }

    private static func seconds(_ days: Int) -> Int64 { Int64(days) * 86_400 }

    /// This store's own backups that can be brought back, in the order in which they were removed. Safety backups are among them.
    public func ownRemovedSnapshots() throws(BackupError) -> [RemovedSnapshot] {
        try repository.removedSnapshots().filter { owns($0.snapshot) }
    }

    /// Digits of an ID that are enough to name a removed backup by it.
    private static let shortestIDCount = 8

    /// The one of removed backups that is meant by a name, or by at least the first eight digits of its ID: of several the one that was removed last, this
    /// store's own first.
    /// - Throws: `notPermitted` when it is not known which was removed last.
    func removedSnapshot(named name: String, among removed: [RemovedSnapshot]) throws(BackupError) -> RemovedSnapshot? {
        let named = removed.filter { one in
            let snapshot = one.snapshot
            return snapshot.name == FileName(name)
                || snapshot.kind == .safety && safetyFile(of: snapshot).name == name
                || name.utf8.count >= Self.shortestIDCount && snapshot.id.hexadecimal.hasPrefix(name)
        }
        let own = named.filter { owns($0.snapshot) }
        let candidates = own.isEmpty ? named : own
        guard candidates.count > 1, candidates.contains(where: { $0.removalTime == nil }) else { return candidates.last }
        let list = candidates.map { one in
            "\(one.snapshot.id.hexadecimal.prefix(12)) (\(SystemClock.localTime(one.snapshot.creationTime)))"
        }
        throw BackupError(
            .notPermitted,
            "several removed backups have this name, and it is not known which was removed last; nothing was changed",
            path: name, remedy: "Name one by its ID: \(list.joined(separator: ", "))")
    }

    /// Removes snapshots so that they can be brought back. For the holder of the operation lock.
    /// - Throws: `notPermitted` for one that is pinned.
    func withdraw(_ ids: [SnapshotID]) throws(BackupError) {
        var removed: Set<SnapshotID> = []
        updateSource()
        try repository.withdrawSnapshots(ids, at: SystemClock.now()) { (id) throws(BackupError) in removed.insert(id) }
        if let kept = ids.first(where: { !removed.contains($0) }).flatMap({ repository.snapshot(id: $0) }), ids.count == 1 {
            throw BackupError(
                .notPermitted, "the backup is pinned; nothing was removed", path: kept.name.description,
                remedy: "Let it go first with: backupfs unpin \(kept.name)")
        }
    }
}
