import TestSupport
import Testing

/// A full disk that other hosts use: a pack for whose name `tmp/` has no space is not unlinked where it lies, where a host that
/// sleeps would do harm.
struct FullShareTests {
    private let world: World
    private let packCount: Int

    init() throws {
        world = try World(copying: try RepositoryExpectation.backups.get())
        // Packs that are not young, of which those of two backups are unused.
        try world.shell(
            """
            # They are gone for good, and their packs stay.
            BACKUPFS_FAULT=prune.removed-given-up=fail \(try Machine.binaryPath()) delete second third --now --yes --store $S || [ $? = 1 ]
            find $S/repository/packs -type f -exec touch -d '2 hours ago' {} +
            """)
        packCount = try Self.packCount(in: world)
    }

    private static func packCount(in world: World) throws -> Int {
        try Int(world.shell("find $S/repository/packs -name '*.pack' | wc -l")) ?? -1
    }

    private func prune(_ fault: Fault? = nil) throws -> Job.Result {
        let plan = fault.map { PlannedFault(fault: $0, number: 1, call: "rename repository/tmp/*.pack") }
        return try world.backupfs(
            RepositoryScenario.prune.arguments, TwoHosts.environment(world, log: world.logPath, plan: plan))
    }

    private func expectPruned() throws {
        let unused = try world.backupfs(["prune", "--max-unused", "0", "--dry-run", "--json"]).requireSuccess()
        #expect(unused.contains("\"packs_removed\":0"), "\(unused)")
        #expect(try world.flaw(of: "first", reference: "\(world.path)/references/first") == nil)
        #expect(world.repositoryLeftovers() == [])
    }

    @Test func `a pack that finds no space waits until others have freed some`() throws {
        let result = try prune(.fullOnce)
        #expect(result.exitCode == 0 && RecordedCall.read(world.logPath).count == 1, "\(result.text)")
        try expectPruned()
    }

    @Test func `where nothing frees space one pack goes in place, and the others stay`() throws {
        let result = try prune(.full)
        #expect(result.exitCode == 1 && result.text.contains("No space left"), "\(result.text)")
        #expect(try Self.packCount(in: world) == packCount - 1)
        #expect(try prune().exitCode == 0)
        #expect(try Self.packCount(in: world) < packCount - 1)
        try expectPruned()
    }
}
