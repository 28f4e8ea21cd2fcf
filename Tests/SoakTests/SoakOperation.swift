import Glibc
import SystemIO
import TestSupport

/// One thing that is done to the store, and how its end is judged.
struct SoakOperation {
    /// For the log and the numbers.
    let kind: String
    let script: String
    /// The backup that it reads, which may be deleted or renamed meanwhile.
    var snapshot: String?
    /// A second one.
    var otherSnapshot: String?
    /// Whether it goes through the mount, whose process may be killed meanwhile.
    var usesMount = true
    /// Whether what it reads is another file after each of the app's changes.
    var readsLive = false
    /// After so many seconds it is killed.
    var killedAfterSeconds: Double?
    /// It must fail, and say this.
    var refusal: String?
    var variables: [String: String] = [:]

    @discardableResult
    func run(in world: SoakWorld, _ daemon: SoakDaemon) -> SoakLedger.Outcome {
        let epoch = daemon.epoch
        let startedAt = SoakLedger.now()
        var outcome = SoakLedger.Outcome.unexpected
        var text = ""
        do {
            var environment = variables
            environment["N"] = snapshot ?? ""
            let hasPending = [snapshot, otherSnapshot].compactMap { $0 }.contains(where: world.isPending)
            let job = try world.sandbox.start("set -e -o pipefail\n\(script)", environment)
            if let killedAfterSeconds {
                usleep(UInt32(killedAfterSeconds * 1_000_000))
                kill(-job.process, SIGKILL)
            }
            let result = try world.sandbox.finish(job)
            text = result.text
            outcome = judge(result, wasDisturbed: usesMount && (epoch % 2 == 1 || daemon.epoch != epoch), world)
            if outcome == .unexpected, hasPending, result.exitCode == 1, result.text.contains("no such backup") {
                outcome = .pending
            }
            if outcome == .unexpected || outcome == .incomplete { text = "exit code \(result.exitCode): \(text)" }
            // A program tells no more than an errno; and the next failure has a reason of its own.
            if outcome == .unexpected { text += Job.read("\(world.storePath)/last-error.json") }
        } catch {
            text = "\(error)"
        }
        world.ledger.note(kind, outcome, seconds: SoakLedger.now() - startedAt, text)
        return outcome
    }

    private func judge(_ result: Job.Result, wasDisturbed: Bool, _ world: SoakWorld) -> SoakLedger.Outcome {
        // What is wrong in what was read is so whatever else happened.
        if result.text.contains("WRONG") { return .unexpected }
        if killedAfterSeconds != nil, result.exitCode == 137 { return .killed }
        if wasDisturbed, result.exitCode != 0 { return .disturbed }
        if let refusal {
            if isBusy(result) { return .busy }
            return result.exitCode != 0 && result.text.contains(refusal) ? .refused : .unexpected
        }
        if result.exitCode == 0 { return .done }
        if isBusy(result) { return .busy }
        // A photo that the app removed after its folder was listed is told as one that could not be read.
        if result.exitCode == 3, kind.hasPrefix("backup"), result.text.contains(".jpg"),
            !result.text.split(separator: "\n").contains(where: { $0.contains(".jpg") && !$0.contains("No such file") })
        {
            return .incomplete
        }
        if readsLive, result.text.contains("Stale file handle") { return .stale }
        if [snapshot, otherSnapshot].compactMap({ $0 }).contains(where: { !world.hasSnapshot($0) }) { return .gone }
        return .unexpected
    }

    private func isBusy(_ result: Job.Result) -> Bool {
        // EBUSY as programs say it, and the exit codes of backupfs itself: another operation, or the app that holds its database.
        [11, 13].contains(result.exitCode) || result.text.contains("Device or resource busy")
    }
}
