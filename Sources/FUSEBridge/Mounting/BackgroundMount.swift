import BackupCore
import Glibc
import SystemIO

/// Mounts in the background: this program is started again, and the starting process waits until the mount responds, at which
/// point the new process starts its own session, or until it has failed. (A multi-threaded program cannot be split by fork(2).)
public enum BackgroundMount {
    /// The variable in the new process's environment with the descriptor that it reports to.
    static let environmentVariable = "BACKUPFS_READY_DESCRIPTOR"
    private static let reportDescriptor: Int32 = 3
    /// The same for the descriptor that it reads a secret from.
    static let secretVariable = "BACKUPFS_SECRET_DESCRIPTOR"
    private static let secretDescriptor: Int32 = 4
    /// A pipe accepts this many bytes before they are read.
    private static let secretByteCountLimit = 4096

    /// Starts this program with `arguments` and waits for its report.
    ///
    /// It gets `/dev/null` as standard input, the log as standard output and standard error, and none of our other open files: a
    /// shell's `$(…)` around this program ends when this program does. It inherits the current folder.
    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - secret: what the new process gets from `inheritedSecret`. It goes through a pipe, since other users can see arguments
    ///     and environment.
    ///   - logPath: appended to; created if it does not exist, accessible only to the owner.
    ///   - executable: the program; by default this one, even if its file has been replaced meanwhile.
    /// - Returns: the process ID of the process that serves the mount.
    /// - Throws: the reported error, or `inputOutput` when the process died without a report. It is not running then.
    @discardableResult
    public static func launch(
        arguments: [String], logPath: String, secret: SecretBytes? = nil, executable: String = "/proc/self/exe"
    ) throws(BackupError) -> Int32 {
        let log = try OwnedDescriptor.open(logPath, O_WRONLY | O_CREAT | O_APPEND, permissions: 0o600)
        let logSize = try log.status().size
        let pipe = try Pipe()
        let process = try spawn(executable, arguments, log: log, report: pipe.writer, secret)
        let report = ReadinessReport(encoded: (try? pipe.takeReader().readToEnd(limitBytes: 1 << 16)) ?? [])
        if case .ready = report { return process.processID }
        let exitCode = process.wait()
        if case .failed(let error) = report { throw error }
        throw BackupError(
            .inputOutput,
            .joined(
                ["the mount ended before it was ready (exit code \(exitCode))", .verbatim(lastWords(logPath, from: logSize))],
                separator: ""),
            remedy: "See \(logPath), or mount with -f to stay in the foreground.")
    }

    /// In the new process: where to report to. Takes over the descriptor, so that programs started from here do not inherit it.
    /// - Returns: `nil` when this program was started normally, or at the second call.
    public static func readinessChannel() -> ReadinessChannel? {
        guard let text = getenv(environmentVariable).map({ String(cString: $0) }) else { return nil }
        unsetenv(environmentVariable)
        return readinessChannel(descriptor: text)
    }

    static func readinessChannel(descriptor text: String) -> ReadinessChannel? {
        guard let number = Int32(text) else { return nil }
        guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
        // The reader may be gone; write(2) should then fail instead of ending the program.
        signal(SIGPIPE, SIG_IGN)
        return ReadinessChannel(OwnedDescriptor(owning: number, path: "readiness report"))
    }

    /// In the new process: the secret it was given, once; `nil` if there is none.
    /// - Throws: `inputOutput` when the starting process died before it had written the secret.
    public static func inheritedSecret() throws(BackupError) -> SecretBytes? {
        guard let text = getenv(secretVariable).map({ String(cString: $0) }), let number = Int32(text) else { return nil }
        unsetenv(secretVariable)
        ProcessSecrecy.begin()
        return try readSecret(OwnedDescriptor(owning: number, path: "pipe"))
    }

    static func readSecret(_ reader: consuming OwnedDescriptor) throws(BackupError) -> SecretBytes {
        var count = 0
        let descriptor = reader.rawValue
        let bytes = try SecretBytes(count: secretByteCountLimit) { (buffer) throws(BackupError) in
            while count < buffer.count {
                let result = Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                if result == -1, errno == EINTR { continue }
                if result <= 0 { break }
                count += result
            }
        }
        _ = consume reader
        guard count > 0 else { throw BackupError(.inputOutput, "the program that requested the mount gave no key") }
        return bytes.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    private static func spawn(
        _ executable: String, _ arguments: [String], log: borrowing OwnedDescriptor, report: borrowing OwnedDescriptor,
        _ secret: SecretBytes?
    ) throws(BackupError) -> Subprocess {
        // Moved away from the numbers that they get in the new program, where one would overwrite the other.
        let log = try OwnedDescriptor.duplicate(log, from: 10)
        let report = try OwnedDescriptor.duplicate(report, from: 10)
        let arguments = [CommandLine.arguments.first ?? "backupfs"] + arguments
        let variables =
            Subprocess.currentEnvironment().filter {
                !$0.hasPrefix("\(environmentVariable)=") && !$0.hasPrefix("\(secretVariable)=")
            } + ["\(environmentVariable)=\(reportDescriptor)"]
        let descriptors = [log.rawValue, log.rawValue, report.rawValue]
        guard let secret else {
            return try Subprocess(executable, arguments, environment: variables, descriptors: descriptors)
        }
        precondition(secret.count <= secretByteCountLimit, "a pipe would not take it")
        let pipe = try Pipe()
        try secret.withUnsafeBytes { (bytes) throws(BackupError) in try pipe.writer.writeAll(bytes) }
        let source = try OwnedDescriptor.duplicate(pipe.reader, from: 10)
        return try Subprocess(
            executable, arguments, environment: variables + ["\(secretVariable)=\(secretDescriptor)"],
            descriptors: descriptors + [source.rawValue])
    }

    /// The last line that went to the log, to be shown immediately.
    private static func lastWords(_ logPath: String, from start: UInt64) -> String {
        guard let file = try? SharedFile(path: logPath), file.size > start else { return "" }
        let from = max(start, file.size > 2000 ? file.size - 2000 : 0)
        let bytes = (try? file.readExactly(at: from, count: Int(file.size - from))) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").last.map { ": \($0)" } ?? ""
    }
}
