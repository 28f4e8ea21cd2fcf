import BackupCore
import Glibc
import SystemIO
import TestSupport

/// Two hosts with one repository, in copies of a world that was prepared once. The repository looks like one on a network share:
/// locks of the kernel do not reach from one host to the other, and each has a catalog of its own.
///
/// The first one has three backups, of which the second one's chunks are to be pruned. The other one has a photo of which the
/// prune removes the only copy, and has not backed up yet.
final class TwoHosts {
    /// What is copied for each trial, and the calls of operations that nothing disturbs.
    struct Prepared: Sendable {
        nonisolated(unsafe) let world: World
        let other: OtherHost
        let pruneCalls: [RecordedCall]
        let backupCalls: [RecordedCall]

        static let shared = Result { try Prepared() }

        private init() throws {
            world = try World(copying: try RepositoryExpectation.of(RepositoryScenario.prune).world)
            other = try OtherHost("beta", folder: world.folder("hosts") + "/beta")
            try world.run(
                other.command(
                    [
                        try Machine.binaryPath(), "init", "--store", "\(world.path)/beta", "--app",
                        "\(world.inputsPath)/diary.yaml",
                    ]
                        + ["--repository", "\(world.storePath)/repository", "--new-source"])
            ).requireSuccess()
            try world.shell(
                """
                cp $W/references/second/media/large.jpg $W/beta/app/photos/
                sqlite3 $W/beta/app/database.sqlite "insert into photos values (1,'large.jpg','of beta')"
                """)
            Template.removeAtExit(world)
            let pruning = TwoHosts(try World(copying: world), other)
            try pruning.passTime()
            try pruning.startPrune().wait().requireSuccess()
            pruneCalls = RecordedCall.read(pruning.world.logPath)
            let backingUp = TwoHosts(try World(copying: world), other)
            try backingUp.startBackup().wait().requireSuccess()
            backupCalls = RecordedCall.read(backingUp.world.logPath)
            guard pruneCalls.contains(where: { $0.name == "unlink" && $0.path.hasSuffix(".pack") }), backupCalls.count > 20 else {
                throw Machine.Unusable("the prune has removed nothing, or the backup has stored nothing")
            }
        }
    }

    private static let limitSeconds = 60

    let world: World
    private let other: OtherHost
    let complaints = Complaints()

    convenience init() throws {
        let prepared = try Prepared.shared.get()
        self.init(try World(copying: prepared.world), prepared.other)
        try passTime()
    }

    private init(_ world: World, _ other: OtherHost) { (self.world, self.other) = (world, other) }

    // MARK: Programs

    /// For a program whose repository is to look as if it were on a network share.
    static func environment(_ world: World, log: String, plan: PlannedFault? = nil) throws -> [String: String] {
        try FaultLayer.environment(folder: world.storePath, logPath: log, plan: plan)
            .merging(["FAULT_LAYER_SHARED": "\(world.storePath)/repository"]) { $1 }
    }

    /// - Parameter isLogged: whether its calls come into the world's log.
    private func environment(_ plan: PlannedFault?, isLogged: Bool) throws -> [String: String] {
        try Self.environment(world, log: isLogged ? world.logPath : "\(world.logPath)-of-others", plan: plan)
    }

    func startPrune(_ plan: PlannedFault? = nil, isLogged: Bool = true) throws -> Job {
        try world.start(
            [Machine.binaryPath()] + RepositoryScenario.prune.arguments + ["--store", world.storePath],
            environment(plan, isLogged: isLogged))
    }

    /// The other host's.
    func startBackup(_ plan: PlannedFault? = nil, isLogged: Bool = true) throws -> Job {
        try startOnOther(["backup", "--label", "beta"], plan, isLogged: isLogged)
    }

    private func startOnOther(_ arguments: [String], _ plan: PlannedFault? = nil, isLogged: Bool = false) throws -> Job {
        let layer = try environment(plan, isLogged: isLogged)
        let program = [try Machine.binaryPath()] + arguments + ["--store", "\(world.path)/beta"]
        return try world.start(other.command(["env"] + layer.map { "\($0.key)=\($0.value)" } + program))
    }

    func expect(_ job: Job, _ exitCodes: Set<Int32>, _ what: String) throws {
        let result = try job.wait()
        complaints.expect(exitCodes.contains(result.exitCode), "\(what): \(result.exitCode), \(result.text)")
    }

    /// Hours pass: notes of locks look as if they had not been renewed, and packs are old enough to be removed from a share.
    func passTime() throws {
        try world.shell(
            "find $S/repository/packs $S/repository/locks -type f -exec touch -d '2 hours ago' {} + 2>/dev/null || true")
    }

    // MARK: Stopping

    /// Waits until a job stops at its call, lets something happen, and lets it go on.
    /// - Returns: how the job ended.
    func whileStopped(_ job: Job, _ body: () throws -> Void) throws -> Job.Result {
        do {
            for _ in 0..<Self.limitSeconds * 500 where !["T", "Z"].contains(Self.state(job)) { usleep(2_000) }
            if Self.state(job) == "T" { try body() }
            job.send(SIGCONT)
        } catch {
            kill(-job.process, SIGKILL)
            _ = try? job.wait()
            throw error
        }
        return try job.wait()
    }

    /// Whether a job ends in a second. It may wait for a lock of one that is stopped.
    static func endsSoon(_ job: Job) -> Bool {
        for _ in 0..<200 {
            if state(job) == "Z" { return true }
            usleep(5_000)
        }
        return false
    }

    /// The state of a process in `/proc`: T when it was stopped, Z when it has ended.
    private static func state(_ job: Job) -> String {
        Job.read("/proc/\(job.process)/stat").split(separator: ")").last?.split(separator: " ").first.map(String.init) ?? "Z"
    }

    // MARK: Afterwards

    func hasOtherBackup() throws -> Bool {
        try startOnOther(["snapshots", "--json"]).wait().requireSuccess().contains("\"beta\"")
    }

    /// Every backup of both is whole, and both go on working.
    /// - Parameter result: of what was disturbed.
    func expectAllWhole(after result: Job.Result) throws {
        try passTime()
        if try !hasOtherBackup() { try expect(startBackup(isLogged: false), [0], "the other host's next backup") }
        try expect(startOnOther(["restore", "beta", "--target", "\(world.path)/restored-on-beta"]), [0], "restoring beta")
        let same = try world.run(["diff", "-r", "\(world.path)/beta/app/photos", "\(world.path)/restored-on-beta/media"])
        complaints.expect(same.exitCode == 0, "the other host's backup is hurt: \(same.text)\(result.text)")
        if let flaw = try world.flaw(of: "third", reference: "\(world.path)/references/third") {
            complaints.expect(false, "third is not what it was: \(flaw)\(result.text)")
        }
        try expect(startPrune(isLogged: false), [0], "the next prune")
        let back = try world.backupfs(["undelete", "first"])
        complaints.expect(back.exitCode == 0, "first cannot be brought back: \(back.text)")
        let whole = try world.backupfs(["verify", "--all"])
        complaints.expect(whole.exitCode == 0, "not all can be restored: \(whole.text)")
        try expect(startOnOther(["check", "--read-data"]), [0], "the other host's check")
    }
}
