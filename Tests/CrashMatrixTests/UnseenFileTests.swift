import TestSupport
import Testing

/// A look at a file that fails is not a file that is not there (R-A10): whatever look of an operation fails, it removes no
/// backup, no pin and no tag, and all that is there can be read afterwards.
@Suite(.rotating(oneIn: 3)) struct UnseenFileTests {
    private static let operations = [
        ["backup"], ["prune"], ["check", "--repair", "--yes"], ["forget", "--keep-last", "5"], ["status"], ["snapshots"],
    ]

    @Test(arguments: operations) func `an error is not absence (R-A10)`(operation: [String]) throws {
        let world = try World(copying: Template.diary.get().world)
        try world.backupfs(["tag", "first", "--add", "precious"]).requireSuccess()
        try world.backupfs(["pin", "first"]).requireSuccess()
        let before = try describe(world)
        #expect(before == "first true [\"precious\"]")
        let recording = try World(copying: world)
        let layer = try FaultLayer.environment(folder: recording.path, logPath: recording.logPath)
        try recording.backupfs(operation, layer.merging(["FAULT_LAYER_LOOKS": "1"]) { $1 }).requireSuccess()
        var places: [String] = []
        for line in Job.read(recording.logPath).split(separator: "\n") where line.hasPrefix("l ") {
            let place = String(line.dropFirst(2))
            if !places.contains(place) { places.append(place) }
        }
        #expect(places.count > 5)
        for place in Rounds.part(of: places, oneIn: 8) {
            let trial = try World(copying: world)
            var variables = try FaultLayer.environment(folder: trial.path, logPath: trial.logPath)
            variables["FAULT_LAYER_FAULT"] = "unseen@1 \(place)"
            let result = try trial.backupfs(operation, variables)
            #expect(try describe(trial) == before, "\(place): \(result.text)")
            let check = try trial.backupfs(["check", "--read-data"])
            #expect(check.exitCode == 0, "\(place): \(result.text)\(check.text)")
        }
    }

    /// The backup that was there first: its name, whether it is pinned, its tags.
    private func describe(_ world: World) throws -> String {
        try world.shell(
            """
            \(try Machine.binaryPath()) snapshots --json --store $S \
            | jq -r '.[] | select(.name == "first") | "\\(.name) \\(.pinned) \\(.tags)"'
            """)
    }
}
