import BackupCore
import Formats
import SystemIO

/// `report.json`: the members have the names that programs for reports of BitMatch know, and `backupfs` has what those lack.
struct ReportJSON {
    let story: JobStory
    let preferences: ReportPreferences
    let time: Timestamp

    private var record: JobRecord { story.record }

    func write(to file: DraftFile) throws(BackupError) {
        // The rows come last, and are not held.
        var head = document.prettyText
        head.removeLast(2)
        while head.last == 10 || head.last == 32 { head.removeLast() }
        try file.add(head)
        try file.add(",\n  \"results\": [")
        var isFirst = true
        try story.forEachRowByWeight { (row) throws(BackupError) in
            try file.add(isFirst ? "\n    " : ",\n    ")
            isFirst = false
            try file.add(Self.json(row).compactText)
        }
        try file.add(isFirst ? "]\n}\n" : "\n  ]\n}\n")
    }

    private static func json(_ row: RecordedRow) -> OrderedJSON {
        var members: [OrderedJSON.Member] = [
            .init("path", row.pathText), .init("target", row.targetPath), .init("status", row.status.rawValue),
            .init("fileExtension", row.fileExtension), .init("size", row.size), .init("sha256", row.digests.sha256?.hexadecimal),
            .init("readBack", row.readBack?.rawValue), .init("message", row.message),
        ]
        if String(validating: row.path, as: UTF8.self) == nil {
            members.append(.init("path_base64", row.path.withUnsafeBytes { Base64.encode($0) }))
        }
        return .object(members)
    }

    private var document: OrderedJSON {
        [
            "reportVersion": "1.0", "timestamp": time, "jobId": record.id, "mode": "Copy & Verify", "source": source,
            "destinations": story.destinations.map(Self.json), "statistics": statistics,
            "extensions": OrderedJSON.object(story.source.extensions.map { .init($0.name, $0.count) }),
            "performance": performance, "verification": verification, "backupfs": details,
        ]
    }

    private var source: OrderedJSON {
        [
            "path": record.source, "name": FileSystem.lastComponent(record.source), "totalSize": story.source.totalBytes,
            "fileCount": story.source.fileCount, "cameraDetected": story.source.camera?.name,
            "driveType": record.sourcePlace.fileSystemType,
        ]
    }

    private static func json(_ destination: DestinationStory) -> OrderedJSON {
        let counts = destination.counts.byStatus.sorted { $0.key.rawValue < $1.key.rawValue }
        return [
            "path": destination.place.path, "name": FileSystem.lastComponent(destination.place.path),
            "driveType": destination.place.fileSystemType, "matches": destination.counts.successCount,
            "issues": destination.issueCount, "bytes": destination.successBytes, "error": destination.failure,
            "statuses": OrderedJSON.object(counts.map { .init($0.key.rawValue, $0.value) }),
            "readBack": ["direct": destination.directCount, "dropped": destination.droppedCount] as OrderedJSON,
            "notReached": destination.missingCount,
        ]
    }

    private var statistics: OrderedJSON {
        let (count, bytes) = (story.source.fileCount, story.source.totalBytes)
        return [
            "totalFiles": count, "totalBytes": bytes, "matches": story.successCount, "issues": story.issueCount,
            "successRate": Self.decimal(story.successPercent), "averageFileSize": count == 0 ? 0 : bytes / count,
            "largestFile": story.largestFile, "smallestFile": story.smallestFile,
        ]
    }

    private var performance: OrderedJSON {
        let values = ReportPerformance(story)
        return [
            "totalDuration": Self.decimal(values.totalSeconds), "copyDuration": Self.decimal(values.copySeconds),
            "verifyDuration": Self.decimal(values.verifySeconds), "throughputMBps": Self.decimal(values.throughput / 1e6),
            "peakSpeedMBps": Self.decimal(values.peak / 1e6), "averageSpeedMBps": Self.decimal(values.average / 1e6),
            "filesPerSecond": Self.decimal(values.filesPerSecond), "workers": values.workerCount,
            "bottleneck": values.bottleneck,
        ]
    }

    /// A copy is never believed because of the checksum cache: it is read back each time.
    private var verification: OrderedJSON {
        var issues: [RowStatus: UInt64] = [:]
        for destination in story.destinations {
            for (status, count) in destination.counts.byStatus where !status.isSuccess { issues[status, default: 0] += count }
        }
        let mode = record.options.verification
        let byType = issues.sorted { $0.key.rawValue < $1.key.rawValue }.map { OrderedJSON.Member($0.key.rawValue, $0.value) }
        let missing = story.destinations.reduce(0) { $0 + $1.missingCount }
        return [
            "method": mode.rawValue, "algorithm": ReportTexts.algorithms(mode),
            "issuesByType": OrderedJSON.object(byType + (missing > 0 ? [.init("notReached", missing)] : [])),
            "checksumCache": ["hits": 0, "misses": 0, "hitRate": 0] as OrderedJSON,
        ]
    }

    private var details: OrderedJSON {
        let runs = story.runs.map { run -> OrderedJSON in
            [
                "started_at": run.startedAt, "ended_at": run.endedAt, "state": run.state?.rawValue,
                "elapsed_seconds": Self.decimal(run.elapsedSeconds), "bytes_read": run.readBytes,
            ]
        }
        let head: OrderedJSON = [
            "verdict": story.verdict.rawValue, "state": story.state.rawValue, "running": story.isRunning,
            "hidden": story.source.hiddenCount, "problems": story.problems, "warnings": story.warnings, "runs": runs,
            "camera_serial": story.source.camera?.serial,
        ]
        return head.adding([
            "title": preferences.title, "company": preferences.company, "client": preferences.client,
            "production": preferences.production, "notes": preferences.notes,
        ])
    }

    static func decimal(_ value: Double) -> OrderedJSON {
        .decimal(value.isFinite ? (min(max(value, 0), 1e15) * 1_000).rounded() / 1_000 : 0)
    }
}
