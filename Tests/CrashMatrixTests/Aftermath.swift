import TestSupport

/// What must be true after a restore that something happened to: the store is opened again, and then the data is the old or the
/// new one, the report says which, and nothing lies about.
struct Aftermath {
    let world: World
    let scenario: Scenario
    let expected: Expectation
    let complaints: Complaints

    /// - Parameters:
    ///   - result: how the command ended.
    ///   - wasBegun: whether the restore has left a journal.
    func check(_ result: Job.Result, _ fault: Fault, wasBegun: Bool) throws -> Trial.Outcome {
        let restart = try world.backupfs(["status", "--json"])
        complaints.expect(restart.exitCode == 0, "the store does not open: \(restart.text)")
        let left = world.leftovers()
        complaints.expect(left == [], "left \(left)")
        let state = try scenario.state(world)
        let isNew = state == expected.new && !scenario.isPreview
        guard isNew || state == expected.old else {
            complaints.expect(
                false, "neither the old state nor the new one: \(state)\nold: \(expected.old)\nnew: \(expected.new)")
            return .old
        }
        if scenario.isPreview {
            try checkPreview(restart)
            return .old
        }
        checkReport(isNew: isNew, wasBegun: wasBegun, restart)
        if result.exitCode == 0 { complaints.expect(isNew, "told as done, and it was not") }
        if !fault.kills, result.exitCode != 0 {
            complaints.expect(!isNew || wasBegun, "told as failed, and it was done: \(result.text)")
            // Before the safety backup is made nothing has been begun, and nothing need be told but by the exit code.
            if !isNew, fault.passes, safetyCount(restart) > 0 {
                complaints.expect(
                    world.report?.result == "failed" || wasBegun, "the report does not tell of the failure: \(result.text)")
            }
        }
        return isNew ? .new : .old
    }

    private func checkReport(isNew: Bool, wasBegun: Bool, _ restart: Job.Result) {
        let report = world.report
        if isNew {
            complaints.expect(
                report.map { ["success", "completed"].contains($0.result) } ?? false, "the report says \(report as Any)")
            complaints.expect(report?.strategy == scenario.strategy, "the report says \(report as Any)")
            complaints.expect(report?.safetyBackup != nil, "the report names no safety backup")
            complaints.expect(safetyCount(restart) == 1, "there is no safety backup")
        } else if let report {
            complaints.expect(["failed", "undone", "refused"].contains(report.result), "the report says \(report)")
        }
        if wasBegun { complaints.expect(report?.result == (isNew ? "completed" : "undone"), "the report says \(report as Any)") }
        complaints.expect(restart.output.contains("\"snapshotCount\": 1,"), "a backup is lost: \(restart.output)")
    }

    /// Nothing whatever is changed by a preview.
    private func checkPreview(_ restart: Job.Result) throws {
        let files = try StoredFiles.read(world)
        for name in Set(files.keys).union(expected.files.keys).sorted() where files[name] != expected.files[name] {
            complaints.expect(false, "a preview has changed \(name)")
        }
        complaints.expect(safetyCount(restart) == 0, "a preview has made a safety backup")
    }

    private func safetyCount(_ status: Job.Result) -> Int {
        status.output.firstMatch(of: /"safetyBackupCount": (\d+)/).flatMap { Int($0.output.1) } ?? -1
    }
}
