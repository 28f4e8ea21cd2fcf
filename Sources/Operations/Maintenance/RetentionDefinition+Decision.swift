import AppData
import BackupCore

extension RetentionDefinition {
    private static let secondsPerDay: Int64 = 86_400

    /// Both limits apply: backups beyond the newest `keepLast` are removed, and so are those older than `keepWithinDays` days. The newest and pinned backups
    /// are always kept.
    /// - Returns: in the order of `candidates`, which does not matter.
    public func decide(_ candidates: [RetentionCandidate], now: Timestamp) -> [RetentionDecision] {
        let order = candidates.indices.sorted { RetentionCandidate.follows(candidates[$0], candidates[$1]) }
        var reasons = [[Message]](repeating: [], count: candidates.count)
        for (position, index) in order.enumerated() {
            let candidate = candidates[index]
            var fits: [Message] = []
            var isOut = false
            if let keepLast { if position < keepLast { fits.append("newest \(keepLast)") } else { isOut = true } }
            if let keepWithinDays {
                let oldest = Timestamp(
                    seconds: now.seconds - Int64(keepWithinDays) * Self.secondsPerDay, nanoseconds: now.nanoseconds)
                if candidate.countedTime >= oldest {
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
