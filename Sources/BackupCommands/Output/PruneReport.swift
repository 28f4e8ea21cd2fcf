import BackupRepository
import Export

/// What a prune did, or would do.
enum PruneReport {
    static func text(_ summary: PruneSummary, isDryRun: Bool) -> String {
        let used = "\(summary.neededChunkCount) chunks are needed (\(ByteCount.text(summary.neededByteCount)))"
        var text = "\(used), \(summary.unusedChunkCount) are not (\(ByteCount.text(summary.unusedByteCount))).\n"
        text += isDryRun ? "Would remove " : "Removed "
        text += "\(summary.removedPackCount) packs and "
        text += isDryRun ? "write the rest of " : "wrote the rest of "
        text += "\(summary.rewrittenPackCount) anew; "
        text +=
            isDryRun
            ? "about \(ByteCount.text(summary.freedByteCount)) would be freed, "
            : "\(ByteCount.text(summary.freedByteCount)) freed, "
        text += "\(ByteCount.text(summary.remainingUnusedByteCount)) of what is not needed \(isDryRun ? "would stay" : "stay").\n"
        for damage in summary.leftAlone { text += "Left alone, since it is damaged (see: backupfs check): \(damage)\n" }
        return text
    }

    static func json(_ summary: PruneSummary, isDryRun: Bool) -> OrderedJSON {
        .members([
            "message_type": .text("prune"), "dry_run": .boolean(isDryRun), "packs": .integer(summary.packCount),
            "bytes": .integer(summary.byteCount), "chunks_needed": .integer(summary.neededChunkCount),
            "bytes_needed": .integer(summary.neededByteCount), "chunks_unused": .integer(summary.unusedChunkCount),
            "bytes_unused": .integer(summary.unusedByteCount), "packs_removed": .integer(summary.removedPackCount),
            "packs_rewritten": .integer(summary.rewrittenPackCount), "packs_new": .integer(summary.newPackCount),
            "bytes_freed": .integer(summary.freedByteCount),
            "bytes_unused_remaining": .integer(summary.remainingUnusedByteCount),
            "left_alone": .array(summary.leftAlone.map { .text($0.description) }),
        ])
    }
}
