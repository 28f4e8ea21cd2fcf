import TestSupport
import Testing

/// The disk is full or fails from some call on, under every kind of operation: each ends by itself and in time, and no backup is
/// hurt (U-A5). Calls are taken at a stride; `FailingStorageTests` takes every one in a small repository.
@Suite(.rotating(oneIn: 3)) struct FailingOperationTests {
    private static let operations = [
        ["backup"], ["export", "--json", "--output", "OUT"], ["verify", "first"], ["prune", "--max-unused", "0"],
        ["check", "--read-data"], ["check", "--repair", "--yes"], ["forget", "--keep-last", "1"],
    ]
    private static let stride = 7
    private static let limitSeconds = 60

    @Test(arguments: operations, [Fault.full, .broken])
    func `every operation ends on a failing disk (U-A5)`(operation: [String], fault: Fault) throws {
        let start = try World(copying: Template.diary.get().world)
        // Something to prune and to repair.
        try start.shell(
            """
            head -c 300000 /dev/urandom > $S/app/photos/large.jpg; B=\(try Machine.binaryPath()); $B backup --label gone --store $S
            $B delete gone --yes --store $S; head -c 4000 /dev/urandom > $S/app/photos/large.jpg
            """)
        let recording = try World(copying: start)
        let layer = try FaultLayer.environment(folder: recording.path, logPath: recording.logPath)
        try recording.backupfs(arguments(operation, recording), layer).requireSuccess()
        let plans = PlannedFault.all(fault, of: RecordedCall.read(recording.logPath))
        let tried = Rounds.part(of: Swift.stride(from: 0, to: plans.count, by: Self.stride).map { plans[$0] }, oneIn: 3)
        for (number, plan) in tried.enumerated() {
            let world = try World(copying: start)
            var variables = try FaultLayer.environment(folder: world.path, logPath: world.logPath)
            variables["FAULT_LAYER_FAULT"] = plan.description
            let program = try [Machine.binaryPath()] + arguments(operation, world) + ["--store", world.storePath]
            // Throws when it does not end.
            let result = try world.start(program, variables).wait(limitSeconds: Self.limitSeconds)
            #expect(result.exitCode < 128, "\(plan): \(result.text)")
            guard number % 3 == 0 else { continue }
            let check = try world.backupfs(["check", "--read-data"])
            #expect(check.exitCode == 0, "\(plan): \(result.text)\(check.text)")
            #expect(try world.backupfs(["snapshots"]).text.contains("first"), "\(plan): \(result.text)")
        }
    }

    private func arguments(_ operation: [String], _ world: World) -> [String] {
        operation.map { $0 == "OUT" ? "\(world.path)/export.json" : $0 }
    }
}
