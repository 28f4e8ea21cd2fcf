import BackupCore
import Glibc
import SystemIO
import TestSupport

/// A file that is copied into the mounted store while something happens to the process that serves it.
final class MountTrial {
    private let scenario: Scenario
    private let expected: Expectation
    private let plan: PlannedFault
    private let world: World
    private let mountpoint: String
    /// MNT_DETACH, which Swift's module of libc does not have.
    private static let lazily: Int32 = 2
    let complaints = Complaints()
    /// The call that the fault hit.
    private(set) var place = "nowhere"

    init(_ scenario: Scenario, _ plan: PlannedFault) throws {
        self.scenario = scenario
        self.plan = plan
        expected = try Expectation.of(scenario)
        world = try World(copying: expected.template.world)
        mountpoint = try world.folder("mnt")
    }

    /// All calls of a mount in which nothing goes wrong.
    static func calls(_ scenario: Scenario) throws -> [RecordedCall] {
        let trial = try MountTrial(scenario, PlannedFault(fault: .kill, number: 1))
        _ = try trial.serve(FaultLayer.environment(folder: trial.world.path, logPath: trial.world.logPath))
        return RecordedCall.read(trial.world.logPath)
    }

    func run() throws -> Trial.Outcome {
        let copied = try serve(FaultLayer.environment(folder: world.path, logPath: world.logPath, plan: plan))
        guard let hit = RecordedCall.read(world.logPath).first else { return .notReached }
        place = "\(hit.name) \(hit.path)"
        let wasBegun = world.exists("restore.journal")
        // What was dropped goes with the next mount.
        let again = try serve([:], copies: false)
        complaints.expect(again?.exitCode == 0, "the store cannot be mounted again: \(again?.text ?? "")")
        guard let copied else { return .old }
        return try Aftermath(world: world, scenario: scenario, expected: expected, complaints: complaints)
            .check(copied, plan.fault, wasBegun: wasBegun)
    }

    /// Mounts, copies the file into the drop folder, and unmounts.
    /// - Returns: how the copying went, or the mount, if nothing was to be copied; `nil` when there was no mount.
    private func serve(_ environment: [String: String], copies: Bool = true) throws -> Job.Result? {
        let job = try world.start([Machine.binaryPath(), "mount", "-f", "--store", world.storePath, mountpoint], environment)
        defer { unmount(Self.lazily) }
        wait { isMounted || !isRunning(job) }
        var copied: Job.Result?
        if isMounted, copies {
            let target = "\(mountpoint)/restore/\(scenario.strategy)/"
            copied = try world.run(["cp", "\(world.inputsPath)/\(scenario.source)", target])
        }
        // A program that had a file open has just closed it, or is about to.
        wait { !isRunning(job) || !isMounted || unmount(0) }
        let result = try job.wait()
        return copies ? copied : result
    }

    /// Waits for something, for a minute at most.
    private func wait(for condition: () -> Bool) {
        for _ in 0..<30_000 {
            if condition() { return }
            usleep(2_000)
        }
    }

    private var isMounted: Bool { Job.read("/proc/self/mounts").contains(" \(mountpoint) ") }

    @discardableResult
    private func unmount(_ flags: Int32) -> Bool { umount2(mountpoint, flags) == 0 }

    private func isRunning(_ job: Job) -> Bool {
        let status = Job.read("/proc/\(job.process)/stat")
        return !status.isEmpty && !status.contains(") Z ")
    }
}

extension MountTrial: CustomStringConvertible {
    var description: String { "\(scenario.name), through the mount, \(plan), \(place)" }
}
