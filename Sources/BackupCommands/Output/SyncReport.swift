import BackupCore
import BackupRepository
import Formats
import Operations

/// Uploads to remotes one after the other, and reports each.
struct SyncReport {
    /// How a failure is reported.
    enum Failure {
        /// The command has failed.
        case error
        /// The command has done what it had to do before.
        case warning
    }

    let store: Store
    let isJSON: Bool
    let failure: Failure
    /// The packs in each remote that are read and compared with their checksums; `nil` for none.
    var verified: DataSubset?
    /// Looks at the remotes that were begun before.
    var earlier: [RemoteLookAhead] = []

    /// - Returns: the first failure; `nil` when all remotes are up to date. A failure does not keep the others from being synced.
    func run(_ remotes: [RemoteSettings]) -> BackupError? {
        var first: BackupError?
        for remote in remotes {
            let printer = ProgressPrinter(isJSON: isJSON)
            let error: BackupError?
            var result: SyncOperation.Result?
            do throws(BackupError) {
                let operation = SyncOperation(
                    store: store, remote: remote, isAutomatic: failure == .warning, verifying: verified, after: earlier)
                let done = try operation.run(progress: printer.handler)
                result = done
                error = done.damage
            } catch let thrown {
                error = thrown
            }
            printer.finish()
            if isJSON { Terminal.write(jsonLine: Self.json(remote, result, error)) }
            if let result, !isJSON {
                report(Self.text(remote, result))
                if let notice = result.notice { Terminal.writeError("warning: \(remote.shownLabel): \(notice.summary)") }
            }
            if let error { report(error, remote) }
            first = first ?? error
            if error?.code == .interrupted { break }
        }
        return first
    }

    private func report(_ text: Message) {
        switch failure {
        case .error: Terminal.writeUnlessQuiet("\(Terminal.successMark)\(text)")
        // Scripts take the name of the backup from standard output.
        case .warning:
            if Terminal.verbosity == .verbose || Terminal.isErrorTerminal && Terminal.verbosity == .normal {
                Terminal.writeError(text)
            }
        }
    }

    private func report(_ error: BackupError, _ remote: RemoteSettings) {
        switch failure {
        case .error: Terminal.writeErrorAsRequested(error)
        case .warning where isJSON: break
        case .warning:
            Terminal.writeError(
                "warning: the backup was made, but not uploaded to \(remote.shownLabel): \(error.summary)")
        }
    }

    private static func text(_ remote: RemoteSettings, _ result: SyncOperation.Result) -> Message {
        let summary = result.summary
        let size = ByteCount.text(summary.uploadedBytes)
        let first: Message =
            summary.uploadedBytes == 0 && result.damage == nil
            ? "\(remote.shownLabel): nothing to upload. Backups there: \(summary.snapshotCount)"
            : "\(remote.shownLabel): uploaded backups: \(summary.addedSnapshotCount) (\(size)). Backups there: \(summary.snapshotCount)"
        var lines = [first]
        if summary.waitingSnapshotCount > 0 {
            lines.append(
                "\(remote.shownLabel): backups that wait, since data that they need is being removed there: \(summary.waitingSnapshotCount). They are uploaded a day later."
            )
        }
        if !result.removed.isEmpty {
            lines.append("\(remote.shownLabel): removed backups by its rules: \(result.removed.count)")
        }
        if result.freedBytes > 0 { lines.append("\(remote.shownLabel): freed \(ByteCount.text(result.freedBytes))") }
        if let found = result.verification {
            lines.append(
                "\(remote.shownLabel): read packs: \(found.packCount) (\(ByteCount.text(found.byteCount))); damaged and uploaded again: \(found.repairedPackCount)"
            )
        }
        return .joined(lines, separator: "\n")
    }

    private static func json(
        _ remote: RemoteSettings, _ result: SyncOperation.Result?, _ error: BackupError?
    ) -> OrderedJSON {
        let summary = result?.summary
        return [
            "message_type": "sync", "remote": remote.name, "label": remote.shownLabel, "up_to_date": error == nil,
            "snapshots_added": summary?.addedSnapshotCount, "snapshots": summary?.snapshotCount,
            "packs_uploaded": summary?.uploadedPackCount, "bytes_uploaded": summary?.uploadedBytes,
            "error": error?.code.rawValue, "message": error?.message, "remedy": error?.remedy,
            "findings": error?.findings ?? [], "snapshots_waiting": summary?.waitingSnapshotCount,
            "snapshots_removed": result?.removed.map(\.name),
            "bytes_freed": result?.freedBytes, "notice": result?.notice?.summary,
            "packs_read": result?.verification?.packCount, "packs_repaired": result?.verification?.repairedPackCount,
            "packs_damaged": result?.verification?.damages.count,
        ]
    }
}
