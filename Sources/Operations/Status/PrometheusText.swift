import BackupCore
import BackupRepository
import SystemIO

/// The state for Prometheus, in its text exposition format: `backupfs status --prometheus`, for the textfile collector of
/// node_exporter.
public struct PrometheusText: Sendable {
    private struct Sample {
        var labels: [(name: String, value: String)] = []
        let value: Int64
    }

    /// The text exposition format, each metric with its help and type.
    public let text: String

    /// - Parameters:
    ///   - repository: how much space the backups use.
    ///   - requests: those of the store's mount, if it has one.
    public init(_ state: StoreState, repository: RepositoryTotals, requests: RequestCounts?) {
        // The labels of the store: several may be monitored on one machine.
        let common = [(name: "app", value: state.definition.name), (name: "store", value: state.storePath)]
        var text = ""
        func add(_ name: String, _ help: String, _ samples: [Sample], type: String = "gauge") {
            guard !samples.isEmpty else { return }
            text += "# HELP backupfs_\(name) \(help)\n# TYPE backupfs_\(name) \(type)\n"
            for sample in samples {
                let labels = (common + sample.labels).map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
                text += "backupfs_\(name){\(labels)} \(sample.value)\n"
            }
        }
        func add(_ name: String, _ help: String, _ value: Int64?) {
            add(name, help, value.map { [Sample(value: $0)] } ?? [])
        }
        add("backups", "Number of backups, without safety backups.", Int64(state.snapshots.count))
        add("safety_backups", "Number of safety backups.", Int64(state.safetyBackupCount))
        add(
            "last_backup_timestamp_seconds", "When the newest backup was made; not there before the first.",
            state.newest?.creationTime.seconds)
        add(
            "last_backup_size_bytes", "Size of the database and the media in the newest backup.",
            state.newest.map { Self.number($0.dataSizeBytes) })
        add(
            "last_backup_files", "Number of files in the newest backup.",
            state.newest.map { Self.number($0.record.root.totals.fileCount) })
        add(
            "last_backup_warnings", "Number of warnings of the newest backup.",
            state.newest.map { _ in Int64(state.warnings.count) })
        add(
            "next_backup_timestamp_seconds", "When the next backup is due; not there without a schedule.",
            state.nextBackup?.seconds)
        add(
            "automatic_backup_failures", "How many backups of the schedule have failed in a row.",
            Int64(state.automaticFailureCount))
        add(
            "repository_size_bytes", "Room that all backups take, compressed and deduplicated.",
            Self.number(repository.packByteCount))
        add(
            "taken_over", "Whether another store continues the backups of this store.", state.successorNotice == nil ? 0 : 1)
        add("database_readable", "Whether the database of the app can be read.", state.databaseError == nil ? 1 : 0)
        let records = state.counts ?? []
        add(
            "records", "Number of records of the app, by collection.",
            records.map { Sample(labels: [("collection", $0.name)], value: Int64($0.count)) })
        func add(_ name: String, _ help: String, _ value: (RemoteStatus) -> Int64?) {
            add(
                name, help,
                state.remotes.compactMap { remote in
                    value(remote).map { Sample(labels: [("remote", remote.name)], value: $0) }
                })
        }
        add("remote_up_to_date", "Whether all backups are in the remote.") { $0.state == .upToDate ? 1 : 0 }
        add(
            "remote_last_sync_timestamp_seconds", "When the last complete sync ended; not there before the first.",
            { $0.lastSync?.seconds })
        add("remote_pending_backups", "Number of backups that are not known to be in the remote.") {
            Int64($0.pendingSnapshotCount)
        }
        add("remote_sync_failures", "How many syncs have failed in a row.") { Int64($0.failureCount) }
        add("operation_running", "Whether an operation runs.", state.isRunning ? 1 : 0)
        let percents = state.operation.flatMap { operation in
            operation.progress.percent.map { [Sample(labels: [("operation", operation.name)], value: Int64($0))] }
        }
        add("operation_percent", "How far the running operation is.", percents ?? [])
        add("last_error", "Whether the last operation that failed has not gone well since.", state.hasFailed ? 1 : 0)
        let failures = state.failure.map { failure in
            [Sample(labels: [("operation", failure.name), ("code", failure.code)], value: failure.at.seconds)]
        }
        add("last_error_timestamp_seconds", "When an operation failed last.", failures ?? [])
        func count(_ name: String, _ help: String, _ label: String, _ counts: [String: UInt64]) {
            let samples = counts.sorted { $0.key < $1.key }.map {
                Sample(labels: [(label, $0.key)], value: Self.number($0.value))
            }
            add(name, help, samples, type: "counter")
        }
        count(
            "fuse_requests_total", "Requests that the mount has served since it began, by operation.", "operation",
            requests?.served ?? [:])
        count(
            "fuse_request_failures_total", "Requests that the mount has answered with an error, by errno.", "errno",
            requests?.failed ?? [:])
        self.text = text
    }

    private static func number(_ value: UInt64) -> Int64 { Int64(clamping: value) }

    /// Escaped as the format requires for label values.
    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    /// Writes the file atomically for a collector, which may run as any user.
    /// - Throws: `usage` for a path that must not be written.
    public func write(to path: String, of store: Store) throws(BackupError) {
        try store.requireWritable(path)
        try FileSystem.writeFileAtomically(path, Array(text.utf8), permissions: 0o644)
    }
}
