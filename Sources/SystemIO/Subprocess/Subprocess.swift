import BackupCore
import CLinux
import Glibc

/// A started program. Uses posix_spawn(3) instead of fork(2), which is unsafe in a multi-threaded process.
public struct Subprocess: Sendable {
    /// What a program leads.
    public enum Leadership: Sendable {
        case nothing
        /// Its own process group, through which all its descendants can be ended.
        case group
        /// Its own session, without a terminal.
        case session

        fileprivate var flags: Int32 {
            switch self {
            case .nothing: 0
            case .group: Int32(POSIX_SPAWN_SETPGROUP)
            case .session: Int32(backupfs_spawn_setsid)
            }
        }
    }

    /// Also the number of its process group, if it leads one.
    public let processID: pid_t

    /// Starts a program with no signal blocked or ignored: the calling thread may block some, and a shell with SIGCHLD blocked
    /// waits forever.
    /// - Parameters:
    ///   - program: path of the executable; a name without a slash is found in `PATH`.
    ///   - arguments: with the program's name first.
    ///   - environment: each as `name=value`; by default that of this process.
    ///   - folder: its working directory; by default that of this process.
    ///   - input: becomes its descriptor 0; by default that is `/dev/null`.
    ///   - descriptors: become its descriptors 1, 2, …; it gets no others. They must be above their new numbers.
    ///   - label: names it in the error.
    public init(
        _ program: String, _ arguments: [String], environment: [String]? = nil, folder: String? = nil, input: Int32? = nil,
        descriptors: [Int32], leads leadership: Leadership = .nothing,
        label: (action: Message, path: String)? = nil
    ) throws(BackupError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let folder { _ = backupfs_spawn_change_folder(&actions, folder) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        for (index, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(index + 1))
        }
        _ = backupfs_spawn_close_from(&actions, Int32(descriptors.count + 1))

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | leadership.flags))

        var process: pid_t = 0
        let code = arguments.withCStrings { arguments in
            (environment ?? Self.currentEnvironment()).withCStrings { environment in
                posix_spawnp(&process, program, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else {
            throw SystemCall.error(code, action: label?.action ?? "start the program", path: label?.path ?? program)
        }
        processID = process
    }

    /// The variables of this process, each as `name=value`.
    public static func currentEnvironment() -> [String] {
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            variables.append(String(cString: variable))
            next += 1
        }
        return variables
    }

    /// As `currentEnvironment`, for another program: without this program's own variables and without the secrets of remotes.
    public static func environmentForOthers() -> [String] {
        let withheld = ["BACKUPFS_", "NOTIFY_SOCKET=", "AWS_SECRET_ACCESS_KEY=", "AWS_SESSION_TOKEN="]
        return currentEnvironment().filter { variable in !withheld.contains { variable.hasPrefix($0) } }
    }

    /// Waits until the program has ended.
    /// - Returns: its exit code as a shell shows it: 128 plus the signal's number when a signal ended it.
    public func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(processID, &status, 0) == -1, errno == EINTR {}
        return Self.exitCode(status)
    }

    /// - Returns: the same once the program has ended, or is not a child of this process; `nil` while it runs.
    public func exitCodeIfEnded() -> Int32? {
        var status: Int32 = 0
        let ended = waitpid(processID, &status, WNOHANG)
        return ended == processID || (ended < 0 && errno != EINTR) ? Self.exitCode(status) : nil
    }

    private static func exitCode(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }

    /// Runs a small program to completion, with `environmentForOthers`.
    /// - Parameter program: absolute path.
    /// - Returns: its exit code, and its standard output and standard error, up to 64 KiB.
    public static func run(_ program: String, _ arguments: [String]) throws(BackupError) -> (exitCode: Int32, message: String) {
        let pipe = try Pipe()
        let writer = try OwnedDescriptor.duplicate(pipe.writer, from: 10)
        let process = try Subprocess(
            program, [program] + arguments, environment: environmentForOthers(),
            descriptors: [writer.rawValue, writer.rawValue])
        _ = consume writer
        let output = (try? pipe.takeReader().readToEnd(limitBytes: 1 << 16)) ?? []
        return (process.wait(), String(decoding: output, as: UTF8.self))
    }
}

extension [String] {
    /// The texts in C's form.
    /// - Parameter body: gets an array that ends with a null pointer and is valid only during the call.
    public func withCStrings<Result>(_ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        let pointers = map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        return body(pointers + [nil])
    }
}
