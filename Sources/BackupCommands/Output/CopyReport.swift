import BackupCore
import BackupRepository
import Formats
import Operations

/// What `copy-snapshots` prints.
enum CopyReport {
    /// What was done with a backup.
    static func write(_ result: SnapshotCopy.Result, isJSON: Bool) {
        let snapshot = result.snapshot
        switch result.outcome {
        case .copied(let copy, let storedBytes):
            if isJSON { return write("copied", snapshot, copy, storedBytes: storedBytes) }
            let size = ByteCount.text(storedBytes)
            Terminal.writeUnlessQuiet(
                copy.name == snapshot.name
                    ? "Copied \(snapshot.name) (\(size))"
                    : "Copied \(snapshot.name) as \(copy.name), since another backup there has its name (\(size))")
        case .completed(let copy, let storedBytes):
            if isJSON { return write("completed", snapshot, copy, storedBytes: storedBytes) }
            Terminal.writeUnlessQuiet(
                "Completed \(snapshot.name): data of its copy was missing there (\(ByteCount.text(storedBytes)))")
        case .isThere(let copy): writePresent(snapshot, copy, isJSON)
        case .wasRemoved: writeRemoved(snapshot, isJSON)
        case .failed(let error):
            if isJSON { write("failed", snapshot, nil, error: error) }
            Terminal.writeError("backupfs: \(snapshot.name) was not copied: \(error.summary)")
        }
    }

    /// What would be done with a backup.
    static func write(_ item: SnapshotCopy.Item, isJSON: Bool) {
        switch item.verdict {
        case .copy:
            if isJSON { return write("would_copy", item.snapshot, nil) }
            Terminal.write("Would copy \(item.snapshot.name)")
        case .isIncomplete(let copy):
            if isJSON { return write("would_complete", item.snapshot, copy) }
            Terminal.write("Would complete \(item.snapshot.name): data of its copy is missing there")
        case .isThere(let copy): writePresent(item.snapshot, copy, isJSON)
        case .wasRemoved: writeRemoved(item.snapshot, isJSON)
        }
    }

    static func write(_ summary: CopyOperation.Summary, isJSON: Bool, isDryRun: Bool) {
        guard !isJSON else {
            return Terminal.write(jsonLine: [
                "message_type": "copy_summary", "from": summary.from, "to": summary.to, "dry_run": isDryRun,
                "copied": summary.copiedCount, "completed": summary.completedCount, "present": summary.presentCount,
                "removed": summary.removedCount,
                "failed": summary.failedCount, "bytes_stored": isDryRun ? nil : Optional(summary.storedBytes),
            ])
        }
        let there: Message = "there already: \(summary.presentCount)"
        let counts: Message =
            isDryRun
            ? "Backups to copy: \(summary.copiedCount), \(there)"
            : "Backups copied: \(summary.copiedCount) (\(ByteCount.text(summary.storedBytes))), \(there)"
        Terminal.writeUnlessQuiet(counts)
    }

    private static func writePresent(_ snapshot: Snapshot, _ copy: Snapshot, _ isJSON: Bool) {
        if isJSON { return write("present", snapshot, copy) }
        guard Terminal.verbosity == .verbose else { return }
        Terminal.write("\(snapshot.name) is there already")
    }

    private static func writeRemoved(_ snapshot: Snapshot, _ isJSON: Bool) {
        if isJSON { return write("removed", snapshot, nil) }
        Terminal.writeUnlessQuiet("\(snapshot.name) was removed there; name it to copy it again")
    }

    private static func write(
        _ action: String, _ snapshot: Snapshot, _ copy: Snapshot?, storedBytes: UInt64? = nil, error: BackupError? = nil
    ) {
        Terminal.write(jsonLine: [
            "message_type": "copy", "action": action, "snapshot": snapshot.name, "snapshot_id": snapshot.id,
            "copy": copy?.name, "copy_id": copy?.id, "bytes": snapshot.record.root.totals.byteCount,
            "bytes_stored": storedBytes, "error": error?.code.rawValue, "message": error?.message, "remedy": error?.remedy,
        ])
    }
}
