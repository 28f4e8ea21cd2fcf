import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Removed backups, and how long they can be brought back.
extension Store {
    /// This store's settings apply to its own backups, and another source's settings to that source's backups. Where those are
    /// unknown, the longer of this store's time and the standard one applies: a store must not shorten another store's time. That
    /// store may have taken over this store's source, and while the settings here may be cut off, those in the repository apply.
    /// A source gets the longest possible time if its document is missing or unreadable, or its settings give the time in an
    /// unknown form. A damaged record may belong to any source: the longest time of all applies.
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
        // Until this store has claimed the source, the longer time of both stores applies.
        if identity.adoption != nil { others[source] = max(own, others[source] ?? own) }
        let longest = others.values.reduce(longer, max)
        let source = source
        return RemovalGrace(now: SystemClock.now()) { [others] snapshot in
            guard let snapshot else { return longest }
            guard let named = snapshot.source else { return longer }
            return others[named] ?? (named == source ? own : longestOfAll)
        }
    }

    /// A later program's settings may have unknown names and values: this one can still be read.
    /// - Returns: `nil` when it cannot.
    private static func undeleteDays(of document: SourceDocument) -> Int? {
        if let text = try? SettingsText(document.settings, path: ""), let settings = try? StoreSettings(text) {
            return settings.retention.undeleteDays
        }
        guard let value = SettingsText.value(of: .undeleteDays, in: document.settings) else { return nil }
        return try? Setting.number(RetentionSettings.undeleteDaysRange, of: "days")(value)
    }

    /// For a prune, which gives up backups without naming them: the clock may have jumped ahead since the previous backup, and
    /// may jump back tomorrow. The backups and removals of this store are evidence of the clock's earlier readings.
    /// - Parameter isAutomatic: whether the prune runs automatically. For a user, a month without a backup is nothing unusual.
    func removalGraceOfSeenTime(isAutomatic: Bool) throws(BackupError) -> RemovalGrace {
        let removed = try ownRemovedSnapshots().flatMap { [$0.snapshot.creationTime, $0.removalTime].compactMap(\.self) }
        let made = SnapshotKind.allCases.flatMap { ownSnapshots(kind: $0) }.map(\.creationTime)
        return try removalGrace().counting(
            clockSeenAt: made + removed, believedStepSeconds: isAutomatic ? 0 : RetentionGuard.aheadSeconds)
    }

    private static func seconds(_ days: Int) -> Int64 { Int64(days) * 86_400 }

    /// The number of ID digits that suffice to name a removed backup.
    private static let shortestIDCount = 8

    /// Finds a removed backup by name, or by at least the first eight digits of its ID: of several the one removed last, this
    /// store's own first.
    /// - Throws: `notPermitted` when it is unknown which was removed last.
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
}
