import BackupCore
import Glibc
import SystemIO

/// Starts programs with posix_spawn(3) instead of fork(2), which is unsafe in a multi-threaded process.
enum ProgramStart {
    /// Starts `program` with no signal blocked or ignored: the calling thread may block some, and a shell with SIGCHLD blocked
    /// waits forever.
    /// - Parameters:
    ///   - program: path of the executable.
    ///   - arguments: with the program's name first.
    ///   - descriptors: become its descriptors 1, 2, …; its descriptor 0 is `/dev/null`, and it gets no others. They must be
    ///     above their new numbers.
    ///   - startsSession: whether it leads its own session, without a terminal.
    /// - Returns: its process ID.
    static func spawn(
        _ program: String, arguments: [String], environment: [String]? = nil, descriptors: [Int32], startsSession: Bool = false
    ) throws(BackupError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for (index, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(index + 1))
        }
        SpawnExtensions.closeDescriptors(from: Int32(descriptors.count + 1), in: &actions)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        SpawnExtensions.resetSignals(in: &attributes)
        let flags = SpawnExtensions.resettingSignals | (startsSession ? SpawnExtensions.newSession : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var process: pid_t = 0
        let result = CStrings.with(arguments) { arguments in
            CStrings.with(environment ?? currentEnvironment()) { environment in
                posix_spawn(&process, program, &actions, &attributes, arguments, environment)
            }
        }
        guard result == 0 else { throw SystemCall.error(result, action: "start the program", path: program) }
        return process
    }

    /// Waits until a program has ended.
    /// - Returns: its exit code as a shell shows it: 128 plus the signal's number when a signal ended it.
    static func wait(for process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    /// Reads a pipe to its end.
    /// - Parameter limitBytes: bytes beyond this limit are read and discarded.
    static func readAll(_ reader: borrowing OwnedDescriptor, limitBytes: Int = 1 << 16) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(reader.rawValue, $0.baseAddress, $0.count) }
            if count == -1, errno == EINTR { continue }
            if count <= 0 { return bytes }
            bytes += buffer[..<count].prefix(max(0, limitBytes - bytes.count))
        }
    }

    static func currentEnvironment() -> [String] {
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            variables.append(String(cString: variable))
            next += 1
        }
        return variables
    }
}

/// Runs a small program to completion.
enum HelperProgram {
    /// - Parameter program: absolute path.
    /// - Returns: its exit code, or 128 plus the signal's number; and its standard output and standard error, up to 64 KiB.
    static func run(_ program: String, _ arguments: [String]) throws(BackupError) -> (exitCode: Int32, message: String) {
        let pipe = try Pipe()
        let writer = try OwnedDescriptor.duplicate(pipe.writer, from: 10)
        let process = try ProgramStart.spawn(
            program, arguments: [program] + arguments, descriptors: [writer.rawValue, writer.rawValue])
        _ = consume writer
        let reader = pipe.takeReader()
        let output = ProgramStart.readAll(reader)
        return (ProgramStart.wait(for: process), String(decoding: output, as: UTF8.self))
    }
}

/// Arguments in C's form.
enum CStrings {
    /// - Parameter body: gets an array that ends with a null pointer and is valid only during the call.
    static func with<Result>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        pointers.append(nil)
        return body(pointers)
    }
}
