import BackupCore
import BackupRepository
import Formats

/// Reports what a prune did, or would do.
enum PruneReport {
    static func write(_ summary: PruneSummary, isDryRun: Bool) {
        let text = text(summary, isDryRun: isDryRun)
        if isDryRun { Terminal.write(text) } else { Terminal.writeUnlessQuiet(text) }
    }

    static func text(_ summary: PruneSummary, isDryRun: Bool) -> Message {
        let needed = ByteCount.text(summary.neededByteCount)
        let unused = ByteCount.text(summary.unusedByteCount)
        let freed = ByteCount.text(summary.freedByteCount)
        let rest = ByteCount.text(summary.remainingUnusedByteCount)
        let removed = summary.removedPackCount
        let rewritten = summary.rewrittenPackCount
        var lines: [Message] = [
            "\(summary.neededChunkCount) chunks are needed (\(needed)), \(summary.unusedChunkCount) are not (\(unused))."
        ]
        if isDryRun {
            lines.append(
                """
                Would remove \(removed) packs and rewrite \(rewritten) others; about \(freed) would be freed, \
                \(rest) of what is not needed would stay.
                """)
        } else {
            lines.append(
                """
                Removed \(removed) packs and rewrote \(rewritten) others; \(freed) freed, \
                \(rest) of what is not needed stay.
                """)
        }
        if summary.youngPackCount > 0 {
            lines.append(
                "Left alone, since they are younger than an hour and other hosts may write here: \(summary.youngPackCount) packs."
            )
        }
        if summary.waitingPackCount > 0 {
            lines.append(
                "Not needed any more: \(summary.waitingPackCount) packs (\(ByteCount.text(summary.waitingByteCount))). They stay on the server for a day, since another machine may be using them; a later prune removes them."
            )
        }
        if let notice = clockNotice(summary) { lines.append(notice) }
        if let untimed = summary.untimedRemovals {
            let name = untimed.latest.name
            let time = Terminal.time(untimed.latest.creationTime)
            lines.append(
                .joined(
                    [
                        .plural(
                            untimed.count, one: "\(untimed.count) removed backup stays: it is not known when it was removed.",
                            other: "\(untimed.count) removed backups stay: it is not known when they were removed."),
                        "The backup “\(name)” is dated \(time), and the clock is behind that. Is the clock right? If the date is wrong, remove that backup, or give up what was removed with: backupfs prune --now",
                    ], separator: " "))
        }
        for damage in summary.leftAlone {
            lines.append("Left alone, since it is damaged (see: backupfs check): \(damage.summary)")
        }
        return .joined(lines, separator: "\n")
    }

    /// Why removed backups are kept although their time is over by the clock; `nil` if there are none.
    static func clockNotice(_ summary: PruneSummary) -> Message? {
        let count = summary.clockHeldRemovalCount
        guard count > 0 else { return nil }
        return .joined(
            [
                .plural(
                    count, one: "\(count) removed backup stays, though its time is over by the clock.",
                    other: "\(count) removed backups stay, though their time is over by the clock."),
                "For more than 31 days of it this store has made and removed no backup, so the clock may have jumped ahead. Is it right? If it is, they go after some more days with backups. To give up this store's own at once: backupfs prune --now",
            ], separator: " ")
    }

    static func json(_ summary: PruneSummary, isDryRun: Bool) -> OrderedJSON {
        [
            "message_type": "prune", "dry_run": isDryRun, "packs": summary.packCount, "bytes": summary.byteCount,
            "chunks_needed": summary.neededChunkCount, "bytes_needed": summary.neededByteCount,
            "chunks_unused": summary.unusedChunkCount, "bytes_unused": summary.unusedByteCount,
            "packs_removed": summary.removedPackCount, "packs_rewritten": summary.rewrittenPackCount,
            "packs_new": summary.newPackCount, "bytes_freed": summary.freedByteCount,
            "bytes_unused_remaining": summary.remainingUnusedByteCount, "packs_young": summary.youngPackCount,
            "packs_waiting": summary.waitingPackCount, "bytes_waiting": summary.waitingByteCount,
            "removed_without_time": summary.untimedRemovals?.count ?? 0, "removed_held_by_clock": summary.clockHeldRemovalCount,
            "left_alone": summary.leftAlone.map(\.description),
        ]
    }
}
