import Synchronization
import TestSupport

/// What an operation on the repository finds, and what it does when nothing goes wrong.
struct RepositoryExpectation: Sendable {
    /// It is only copied.
    nonisolated(unsafe) let world: World
    let calls: [RecordedCall]

    private static let known = Mutex<[String: RepositoryExpectation]>([:])

    /// Three backups, each restored into a folder of its own while all was well.
    nonisolated(unsafe) static let backups = Result {
        let world = try World(copying: Template.diary.get().world)
        try world.shell(
            """
            B=\(try Machine.binaryPath()); cd $S/app/photos
            head -c 200000 /dev/urandom > large.jpg; $B backup --label second --store $S
            head -c 300000 /dev/urandom > larger.jpg; rm large.jpg; $B backup --label third --store $S
            for name in first second third; do $B restore $name --target $W/references/$name --store $S; done
            """)
        Template.removeAtExit(world)
        return world
    }

    /// Made once for each scenario.
    static func of(_ scenario: RepositoryScenario) throws -> RepositoryExpectation {
        if let found = known.withLock({ $0[scenario.name] }) { return found }
        let made = try RepositoryExpectation(scenario)
        known.withLock { $0[scenario.name] = made }
        return made
    }

    private init(_ scenario: RepositoryScenario) throws {
        world = try World(copying: Self.backups.get())
        try world.shell("B=\(try Machine.binaryPath()); Q=$S/repository; \(scenario.preparation)")
        Template.removeAtExit(world)
        let recording = try World(copying: world)
        let result = try recording.backupfs(
            scenario.arguments, FaultLayer.environment(folder: recording.storePath, logPath: recording.logPath))
        calls = RecordedCall.read(recording.logPath)
        guard result.exitCode < 2, calls.count > 50 else {
            throw Machine.Unusable("\(scenario.name) in peace: \(calls.count) calls, \(result.exitCode), \(result.text)")
        }
    }
}
