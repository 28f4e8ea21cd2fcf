import BackupCore
import Glibc
import Synchronization

/// Named points at which a test makes the program die or wait, to see what a crash there leaves behind. Without the environment
/// variable `BACKUPFS_FAULT` a point costs one comparison.
///
/// `BACKUPFS_FAULT=name` kills the process (SIGKILL) the first time it reaches the point, `name:3` the third time. `name=fail`
/// throws an input/output error. `name=pause:PATH` first creates `PATH.reached`, then waits while PATH exists, or until the
/// operation is cancelled. Several points are separated by commas.
public enum FaultInjection {
    private struct Plan: Sendable {
        enum Action: Sendable { case kill, fail, pause(String) }

        let point: String
        let passing: Int
        let action: Action

        init?(_ text: String) {
            let parts = text.split(separator: "=", maxSplits: 1)
            let place = parts[0].split(separator: ":")
            guard let name = place.first else { return nil }
            point = String(name)
            passing = place.count > 1 ? Int(place[1]) ?? 1 : 1
            guard parts.count > 1 else {
                action = .kill
                return
            }
            if parts[1].hasPrefix("pause:") {
                action = .pause(String(parts[1].dropFirst(6)))
            } else {
                action = .fail
            }
        }
    }

    private static let plans: [Plan] =
        getenv("BACKUPFS_FAULT").map { String(cString: $0).split(separator: ",").compactMap { Plan(String($0)) } } ?? []
    private static let passings = Mutex<[String: Int]>([:])

    /// - Throws: `inputOutput` when the plan says so.
    public static func reached(_ point: StaticString) throws(BackupError) {
        guard !plans.isEmpty, plans.contains(where: { $0.point == point.description }) else { return }
        let passing = passings.withLock { passings in
            passings[point.description, default: 0] += 1
            return passings[point.description]
        }
        guard let plan = plans.first(where: { $0.point == point.description && $0.passing == passing }) else { return }
        switch plan.action {
        case .kill: kill(getpid(), SIGKILL)
        case .fail: throw BackupError(.inputOutput, "an injected fault at \(point)")
        case .pause(let path):
            // For a test that waits until the program gets here.
            _ = try? OwnedDescriptor.open("\(path).reached", O_WRONLY | O_CREAT, permissions: 0o600)
            while access(path, F_OK) == 0 {
                usleep(2_000)
                try Cancellation.check()
                // A thread that works for the operation without knowing it: the operation's own thread reports the cancellation.
                if Cancellation.current == nil, Cancellation.isProcessEnding { return }
            }
        }
    }
}
