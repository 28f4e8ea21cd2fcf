import SystemIO
import TestSupport
import Testing

/// R-A8: file systems whose renameat2(2) takes no flags (NFS, SMB, exFAT, many by FUSE): a restore does without them, also after
/// a crash.
struct RenameFlagTests {
    private static func environment(_ world: World) throws -> [String: String] {
        try FaultLayer.environment(folder: world.path, logPath: world.logPath).merging(["FAULT_LAYER_NO_RENAME_FLAGS": "1"]) {
            $1
        }
    }

    @Test func `the layer refuses flags`() throws {
        let world = try World()
        let variables = try Self.environment(world).map { "'\($0.key)=\($0.value)'" }.joined(separator: " ")
        let script =
            "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); open('a', 'w'); print(libc.renameat2(-100, b'a', -100, b'b', 1), ctypes.get_errno(), libc.renameat2(-100, b'a', -100, b'b', 0))"
        #expect(
            try world.run([
                "bash", "-c",
                "cd '\(world.path)'; env \(variables) $(python3 -c 'import sys; print(sys.executable)') -c \"\(script)\"",
            ]).requireSuccess()
                == "-1 22 0")
    }

    @Test(arguments: Scenario.archives)
    func `R-A8: a restore with media, and one into another folder`(scenario: Scenario) throws {
        let expected = try Expectation.of(scenario).new
        let world = try World(copying: Template.of(scenario.template).world)
        let layer = try Self.environment(world)
        try world.backupfs(scenario.arguments(world), layer).requireSuccess()
        #expect(try scenario.state(world) == expected)
        #expect(world.leftovers() == [])
        let target = "\(world.path)/target"
        try world.backupfs(["restore", "first", "--target", target], layer).requireSuccess()
        #expect(try world.shell("cat $W/target/media/one.jpg $W/target/media/gone.jpg") == "onegone")
    }

    /// The second run has no flags either.
    @Test(
        arguments: Scenario.archives,
        ["restore.committed", "restore.media-emptied", "restore.file-brought-in:2", "restore.file-published:2"])
    func `R-A8: a recovery`(scenario: Scenario, point: String) throws {
        let expected = try Expectation.of(scenario).new
        let world = try World(copying: Template.of(scenario.template).world)
        let layer = try Self.environment(world)
        _ = try world.backupfs(scenario.arguments(world), layer.merging(["BACKUPFS_FAULT": point]) { $1 })
        try world.backupfs(["status"], layer).requireSuccess()
        #expect(try scenario.state(world) == expected)
        #expect(world.leftovers() == [])
    }

    /// Where a name cannot be removed either, there is a file with two names that stays so.
    @Test(arguments: ["restore.committed", "restore.media-emptied"])
    func `R-A8: a recovery ends where names cannot be removed, and is finished when they can`(point: String) throws {
        let scenario = Scenario.archives[0]
        let world = try World(copying: Template.of(scenario.template).world)
        let layer = try Self.environment(world)
        _ = try world.backupfs(scenario.arguments(world), layer.merging(["BACKUPFS_FAULT": point]) { $1 })
        let kept = layer.merging(["FAULT_LAYER_KEPT_NAME": "one.jpg"]) { $1 }
        for _ in 1...2 {
            let result = try world.start([Machine.binaryPath(), "status", "--store", world.storePath], kept).wait(
                limitSeconds: 60)
            #expect(result.exitCode == 0 && result.text.contains("cannot be finished yet"), "\(result.text)")
        }
        try world.backupfs(["status"], layer).requireSuccess()
        #expect(try scenario.state(world) == Expectation.of(scenario).new)
        #expect(world.leftovers() == [])
    }
}
