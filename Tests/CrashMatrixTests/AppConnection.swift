import Glibc
import TestSupport

/// The app, which has its database open and has read from it.
final class AppConnection {
    private let job: Job
    private var isRunning = true

    init(_ world: World) throws {
        let path = Template.databasePath(.diary, world)
        job = try world.start(["bash", "-c", "(echo 'select 1 from photos limit 1;'; exec sleep 1000) | exec sqlite3 '\(path)'"])
        for _ in 0..<10_000 where job.outputSoFar.isEmpty { usleep(1_000) }
        guard !job.outputSoFar.isEmpty else { throw Machine.Unusable("the app did not open its database") }
    }

    deinit { kill() }

    /// Ends it without letting it close anything.
    func kill() {
        guard isRunning else { return }
        isRunning = false
        Glibc.kill(-job.process, SIGKILL)
        _ = try? job.wait()
    }
}
