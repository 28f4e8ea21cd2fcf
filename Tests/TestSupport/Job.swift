import Glibc
import SystemIO

/// A started program, in its own process group. Its output goes to files, so that no pipe has to be drained.
public final class Job: Sendable {
    /// How a program ended.
    public struct Result: Sendable {
        /// 128 plus the signal's number when a signal ended it, as in shells.
        public let exitCode: Int32
        public let output: String
        public let errors: String

        /// All of its output.
        public var text: String { output + errors }
        /// Its output without trailing newlines.
        public var trimmed: String {
            var characters = output[...]
            while characters.last == "\n" { characters.removeLast() }
            return String(characters)
        }
        public var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    public let process: pid_t
    private let outputPath: String
    private let errorsPath: String

    /// - Parameters:
    ///   - command: a program's name, found in `PATH`, and its arguments.
    ///   - environment: that of the tests if `nil`.
    ///   - scratch: a unique path; `.out` and `.err` are appended.
    ///   - mergesErrors: whether its errors go to its output, in their original order.
    public init(
        _ command: [String], environment: [String: String]? = nil, inputPath: String = "/dev/null", scratch: String,
        mergesErrors: Bool = false
    ) throws(Machine.Unusable) {
        outputPath = scratch + ".out"
        errorsPath = scratch + ".err"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, inputPath, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        if mergesErrors {
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        } else {
            posix_spawn_file_actions_addopen(&actions, 2, errorsPath, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        }
        SpawnExtensions.closeDescriptors(from: 3, in: &actions)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        SpawnExtensions.leadGroup(in: &attributes)

        var process: pid_t = 0
        let code = Self.withStrings(command) { arguments in
            guard let environment else { return posix_spawnp(&process, command[0], &actions, &attributes, arguments, environ) }
            return Self.withStrings(environment.map { "\($0.key)=\($0.value)" }) { variables in
                posix_spawnp(&process, command[0], &actions, &attributes, arguments, variables)
            }
        }
        guard code == 0 else { throw Machine.Unusable("could not start \(command[0]): \(String(cString: strerror(code)))") }
        self.process = process
    }

    /// - Throws: when it has not ended after `limitSeconds`; its whole group is then killed.
    public func wait(limitSeconds: Int = 120) throws(Machine.Unusable) -> Result {
        var status: Int32 = 0
        var waitedMicroseconds = 0
        while waitpid(process, &status, WNOHANG) == 0 {
            if waitedMicroseconds > limitSeconds * 1_000_000 {
                kill(-process, SIGKILL)
                waitpid(process, &status, 0)
                throw Machine.Unusable(
                    "gave up after \(limitSeconds) s: \(Self.read(outputPath))\(Self.read(errorsPath))")
            }
            let step = waitedMicroseconds < 20_000 ? 500 : 5_000
            usleep(UInt32(step))
            waitedMicroseconds += step
        }
        let signal = status & 0x7F
        return Result(
            exitCode: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, output: Self.read(outputPath),
            errors: Self.read(errorsPath))
    }

    /// What it has printed until now.
    public var outputSoFar: String { Self.read(outputPath) }

    /// For tests that start thousands.
    public func removeOutput() {
        unlink(outputPath)
        unlink(errorsPath)
    }

    public func send(_ signal: Int32) { kill(process, signal) }

    /// - Returns: an empty text for a missing file.
    public static func read(_ path: String) -> String { String(decoding: (try? readFile(path)) ?? [], as: UTF8.self) }

    public static func withStrings<Value>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
    ) -> Value {
        let copies = strings.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        return body(copies + [nil])
    }
}
