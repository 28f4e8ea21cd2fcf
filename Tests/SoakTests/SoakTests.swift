import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

/// Everything at once, for as long as one likes: an app that writes all the time, backups every few seconds, readers, restores,
/// prunes, and `kill -9` of whatever runs. At the end every backup must be whole, the app's data consistent, and memory and
/// descriptors as they were.
///
/// `make soak MINUTES=10 SEED=7`. What it did is in `soak.log` in its folder, which stays there with the store if something is
/// wrong.
@Suite(
    .serialized, .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"),
    .enabled(if: SoakPlan.isWanted, "only `make soak` runs it"))
struct SoakTests {
    private static let sampleSeconds = 2.0
    /// Descriptors of requests that are just being served.
    private static let descriptorSlack = 8.0
    /// At rest: the catalog has five connections of three descriptors at most, and `live/` keeps two renderings of two files.
    private static let descriptorSlackAtRest = 16
    private static let memoryFactor = 1.15
    private static let memorySlackMiB = 16.0

    @Test func `nothing is lost, and nothing grows`() throws {
        try Machine.requireFUSE()
        let plan = SoakPlan.current
        let world = try SoakWorld()
        report("\(plan), \(world.path)")
        var problems: [String] = []
        do {
            problems = try use(world, plan)
        } catch {
            problems = ["\(error)"]
        }
        for line in world.ledger.summary { report(line) }
        problems += world.ledger.unexpected
        guard problems.isEmpty else {
            umount2(world.mountpoint, 2)
            Issue.record("\(plan): \(problems.joined(separator: "\n"))\nStore and log stay in \(world.path)")
            return
        }
        try world.sandbox.remove()
    }

    private func report(_ text: String) { print("soak: \(text)") }

    /// - Returns: what was wrong.
    private func use(_ world: SoakWorld, _ plan: SoakPlan) throws -> [String] {
        let app = try world.sandbox.start(["python3", "\(world.path)/app.py", "\(world.storePath)/app", "\(plan.seed)"])
        var isAppRunning = true
        defer { if isAppRunning { app.send(SIGKILL) } }
        let daemon = try SoakDaemon(world)
        let atFirst = try ProcessFigures.descriptors(of: #require(daemon.process))
        // The second store begins with the first one's data.
        try world.sandbox.sh(
            """
            wait_until '[ "$(sqlite3 -readonly $S/app/database.sqlite "select count(*) from notes")" -gt 10 ]'; mkdir $M/snapshots/first; sync $M/snapshots/first; backupfs pin first --store $S
            backupfs init --store $O --app $R/diary.yaml --repository $S/repository --new-source
            backupfs restore first --other-source --yes --store $O; backupfs backup --label \(SoakWorld.otherPrefix)first --store $O
            """)
        let users = [
            try SoakUsers.start(1, world, daemon, pauseSeconds: 1...4, SoakUsers.backer),
            try SoakUsers.start(2, world, daemon, pauseSeconds: 0...0.3, SoakUsers.reader),
            try SoakUsers.start(3, world, daemon, pauseSeconds: 0...0.5, SoakUsers.reader),
            try SoakUsers.start(4, world, daemon, pauseSeconds: 1...6, SoakUsers.restorer),
            try SoakUsers.start(5, world, daemon, pauseSeconds: 2...8, SoakUsers.keeper),
            try SoakUsers.start(6, world, daemon, pauseSeconds: 2...6, SoakUsers.neighbour),
        ]
        var problems: [String] = []
        var killCount = 0
        var figures = ProcessFigures()
        do {
            killCount = try killAgainAndAgain(world, daemon, until: SoakLedger.now() + plan.secondsWithKills)
            figures = try watch(world, daemon, seconds: plan.seconds - plan.secondsWithKills)
        } catch {
            problems.append("\(error)")
        }
        world.isEnding.store(true, ordering: .relaxed)
        for user in users { user.join() }
        app.send(SIGTERM)
        let farewell = try world.sandbox.finish(app)
        isAppRunning = false
        report("the app: \(farewell.trimmed)")
        if farewell.exitCode != 0 { problems.append("the app ended with \(farewell.exitCode): \(farewell.text)") }
        report("kills of the mount: \(killCount)")
        problems += judge(figures)
        if let process = daemon.process {
            // The kernel gives look-ups and handles back a little later.
            let limit = atFirst.others + Self.descriptorSlackAtRest
            for _ in 0..<500 where ProcessFigures.descriptors(of: process).others > limit { usleep(20_000) }
            let atRest = ProcessFigures.descriptors(of: process)
            report(
                "descriptors at rest: \(atFirst.others) when it was new, \(atRest.others) now, and \(atRest.kept) of packs and photos"
            )
            if atRest.others > limit { problems.append("left open: \(atRest)") }
        }
        problems += try SoakVerification(world: world).problems { report($0) }
        try daemon.end()
        problems += daemon.accidents
        return problems
    }

    /// - Returns: how often it was killed.
    private func killAgainAndAgain(_ world: SoakWorld, _ daemon: SoakDaemon, until end: Double) throws -> Int {
        var random = SeededGenerator(seed: SoakPlan.current.seed)
        var count = 0
        while true {
            _ = world.pause(seconds: Double.random(in: 3...15, using: &random))
            guard SoakLedger.now() < end else { return count }
            world.ledger.say("kill -9 of the mount")
            try daemon.killAndRemount()
            world.ledger.say("mounted again")
            count += 1
        }
    }

    /// Lets the mount live, and looks at it now and then.
    private func watch(_ world: SoakWorld, _ daemon: SoakDaemon, seconds: Double) throws -> ProcessFigures {
        var figures = ProcessFigures()
        guard let process = daemon.process else { return figures }
        let start = SoakLedger.now()
        while SoakLedger.now() < start + seconds {
            _ = world.pause(seconds: Self.sampleSeconds)
            let now = SoakLedger.now() - start
            // Caches fill at first.
            guard now > seconds * 0.15 else { continue }
            figures.take(of: process, seconds: now)
        }
        return figures
    }

    private func judge(_ figures: ProcessFigures) -> [String] {
        guard let memory = Trend(figures.memoryMiB), let descriptors = Trend(figures.descriptors) else {
            report("too short to judge memory and descriptors by: \(figures.memoryMiB.count) samples")
            return []
        }
        report("memory in MiB: \(memory)")
        report("descriptors: \(descriptors)")
        report("descriptors of packs and photos: at most \(figures.mostKept)")
        var problems: [String] = []
        if figures.mostKept > ProcessFigures.keptLimit { problems.append("\(figures.mostKept) packs and photos are open") }
        if !memory.isFlat(factor: Self.memoryFactor, slack: Self.memorySlackMiB) { problems.append("memory grows: \(memory)") }
        if !descriptors.isFlat(factor: 1, slack: Self.descriptorSlack) { problems.append("descriptors grow: \(descriptors)") }
        return problems
    }
}
