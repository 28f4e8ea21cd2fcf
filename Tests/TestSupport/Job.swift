import CLinux
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
        let input = open(inputPath, O_RDONLY | O_CLOEXEC)
        let output = open(outputPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let errors = mergesErrors ? output : open(errorsPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer { for descriptor in Set([input, output, errors]) { close(descriptor) } }
        do {
            process = try Subprocess(
                command[0], command, environment: environment?.map { "\($0.key)=\($0.value)" }, input: input,
                descriptors: [output, errors], leads: .group
            ).processID
        } catch {
            throw Machine.Unusable("could not start \(command[0]): \(error.message)")
        }
    }

    /// - Throws: when it has not ended after `limitSeconds`; its whole group is then killed.
    public func wait(limitSeconds: Int = 120) throws(Machine.Unusable) -> Result {
        var status: Int32 = 0
        // Tests that all look every few milliseconds whether their program has ended take the processors from the programs.
        let ending = backupfs_open_process(process)
        defer { if ending >= 0 { close(ending) } }
        let end = SystemClock.monotonicNanoseconds() + UInt64(limitSeconds) * 1_000_000_000
        while waitpid(process, &status, WNOHANG) == 0 {
            let now = SystemClock.monotonicNanoseconds()
            guard now < end else {
                kill(-process, SIGKILL)
                waitpid(process, &status, 0)
                throw Machine.Unusable(
                    "gave up after \(limitSeconds) s: \(Self.read(outputPath))\(Self.read(errorsPath))")
            }
            var entry = pollfd(fd: ending, events: Int16(POLLIN), revents: 0)
            // Without a descriptor (a kernel before 5.3), `poll` only waits.
            _ = poll(&entry, 1, ending >= 0 ? Int32(clamping: (end - now) / 1_000_000 + 1) : 5)
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
}
