import Glibc
import SystemIO
import Testing

/// Runs programs for a test. Their output goes to a file, so that nobody has to drain a pipe.
enum Shell {
    struct Result {
        let exitCode: Int32
        /// Standard output and standard error, in the order in which they came.
        let text: String
    }

    /// Runs a bash script to its end.
    /// - Parameter outputPath: a file for the output, overwritten.
    static func run(_ script: String, environment: [String: String], outputPath: String) throws -> Result {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        SpawnExtensions.closeDescriptors(from: 3, in: &actions)

        // A shell that inherits a blocked SIGCHLD from a thread of the test runner would wait for ever.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var process: pid_t = 0
        let code = withStrings(["bash", "-c", script]) { arguments in
            withStrings(environment.map { "\($0.key)=\($0.value)" }) { variables in
                posix_spawnp(&process, "bash", &actions, &attributes, arguments, variables)
            }
        }
        try #require(code == 0, "could not start bash: \(String(cString: strerror(code)))")
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1, errno == EINTR {}
        let signal = status & 0x7F
        return Result(exitCode: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, text: try read(outputPath))
    }

    static func read(_ path: String) throws -> String { String(decoding: try FileSystem.readFile(path), as: UTF8.self) }

    static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    private static func withStrings<Value>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
    ) -> Value {
        let copies = strings.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        return body(copies + [nil])
    }
}
