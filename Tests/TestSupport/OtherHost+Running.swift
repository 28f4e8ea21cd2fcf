import Glibc
import SystemIO

extension OtherHost {
    /// The host while it runs: what one of its programs mounts is there for the next, and it has a network of its own, in which
    /// there is nothing but the host itself at first. It ends with the last reference, and with the process of the tests.
    public final class Running: Sendable {
        /// The mounts of its own programs leave it at the end, so that their processes end.
        private static let script =
            MountNamespace.prelude + #"""
                leave_mounts; ip link set lo up; echo ready
                tail --pid="$0" --follow /dev/null
                leave_mounts
                """#
        private static let startLimitSeconds = 60

        private let job: Job

        /// Of the process that keeps the host running. `/proc` has its mounts and its network.
        public var process: pid_t { job.process }
        /// What stands before a command that is to run there.
        public var launcher: [String] { ["nsenter", "--target", "\(process)", "--mount", "--uts", "--net", "--"] }
        /// The network namespace, as a file.
        public var networkPath: String { "/proc/\(process)/ns/net" }

        fileprivate init(_ host: OtherHost, scratch: String) throws {
            let command = host.command(["bash", "-ec", Self.script, "\(getpid())"])
            job = try Job(["unshare", "--net"] + command, scratch: scratch)
            var waitedMilliseconds = 0
            while !job.outputSoFar.hasSuffix("ready\n") {
                guard waitedMilliseconds < Self.startLimitSeconds * 1_000, waitpid(job.process, nil, WNOHANG) == 0 else {
                    stop()
                    throw Machine.Unusable("the host did not start: \(Job.read("\(scratch).err"))")
                }
                usleep(5_000)
                waitedMilliseconds += 5
            }
        }

        deinit { stop() }

        /// Ends what keeps it running; its namespaces go with the last process in them.
        public func stop() {
            kill(-job.process, SIGKILL)
            _ = try? job.wait(limitSeconds: 10)
        }

        /// Runs a bash script there that must succeed.
        @discardableResult
        public func sh(_ script: String) throws -> String {
            let scratch = try TemporaryFolder()
            let result = try Job(launcher + ["bash", "-ec", script], scratch: scratch("job")).wait()
            guard result.exitCode == 0 else { throw Machine.Unusable("\(script): \(result.text)") }
            return result.trimmed
        }
    }

    /// Starts it.
    /// - Parameter scratch: a unique path; endings are appended.
    public func start(scratch: String) throws -> Running { try Running(self, scratch: scratch) }
}
