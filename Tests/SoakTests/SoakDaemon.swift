import Glibc
import Synchronization
import SystemIO
import TestSupport

/// The process that serves the mount. It may be killed at any moment, and comes back.
final class SoakDaemon: Sendable {
    private struct State {
        var job: Job?
        /// Grows when the process is killed, and when it is back: odd while it is not there.
        var epoch = 0
        /// What processes that ended by themselves had to say. None may.
        var accidents: [String] = []
    }

    private let world: SoakWorld
    private let state = Mutex(State())
    /// Holds back the shell that takes the mount away should this process die.
    private let lifeline: OwnedDescriptor
    private let cleaner: Job

    init(_ world: SoakWorld) throws {
        self.world = world
        let pipe = "\(world.path)/lifeline"
        guard mkfifo(pipe, 0o600) == 0 else { throw Machine.Unusable("no pipe in \(world.path)") }
        lifeline = try OwnedDescriptor.open(pipe, O_RDWR)
        cleaner = try Job(
            ["sh", "-c", "cat >/dev/null; umount -l '\(world.mountpoint)' || fusermount3 -u -z '\(world.mountpoint)'"],
            inputPath: pipe, scratch: "\(world.path)/tmp/cleaner")
        try mount()
    }

    var epoch: Int { state.withLock { $0.epoch } }

    /// Its process number; `nil` while it is not there.
    var process: pid_t? { state.withLock { $0.job?.process } }

    var accidents: [String] { state.withLock { $0.accidents } }

    /// Mounts; a dead mount that is in the way is cleared by the program itself.
    func mount() throws {
        let job = try world.sandbox.start([Machine.binaryPath(), "mount", "-f", "--store", world.storePath, world.mountpoint])
        let end = SoakLedger.now() + 60
        while access("\(world.mountpoint)/status.json", F_OK) != 0, kill(job.process, 0) == 0, SoakLedger.now() < end {
            usleep(10_000)
        }
        guard access("\(world.mountpoint)/status.json", F_OK) == 0 else {
            kill(job.process, SIGKILL)
            let result = try job.wait()
            throw Machine.Unusable("did not mount (exit code \(result.exitCode)): \(result.text)")
        }
        state.withLock { state in
            state.job = job
            state.epoch += state.epoch.isMultiple(of: 2) ? 0 : 1
        }
    }

    /// Kills it, waits, and mounts again.
    func killAndRemount() throws {
        let job = state.withLock { state in
            state.epoch += 1
            defer { state.job = nil }
            return state.job
        }
        guard let job else { return }
        job.send(SIGKILL)
        let result = try world.sandbox.finish(job)
        // 128 and SIGKILL; anything else is how it ended before.
        if result.exitCode != 137 { noteAccident(result) }
        try mount()
    }

    /// Unmounts it in the ordinary way.
    func end() throws {
        let job = state.withLock { state in
            defer { state.job = nil }
            return state.job
        }
        if let job {
            var remainingTries = 200
            while umount2(world.mountpoint, 0) != 0, remainingTries > 0 {
                remainingTries -= 1
                usleep(50_000)
            }
            // A mount namespace that another process created meanwhile has a copy of the mount, and keeps it alive.
            remainingTries = 100
            while !Self.hasEnded(job.process), remainingTries > 0 {
                remainingTries -= 1
                usleep(100_000)
            }
            if !Self.hasEnded(job.process) { job.send(SIGTERM) }
            let result = try world.sandbox.finish(job, limitSeconds: 60)
            if result.exitCode != 0 { noteAccident(result) }
        }
        cleaner.send(SIGTERM)
        _ = try cleaner.wait()
    }

    /// Whether it only waits to be asked how it ended.
    private static func hasEnded(_ process: pid_t) -> Bool { Job.read("/proc/\(process)/stat").contains(") Z ") }

    private func noteAccident(_ result: Job.Result) {
        state.withLock { $0.accidents.append("the mount ended by itself (exit code \(result.exitCode)): \(result.text)") }
    }
}
