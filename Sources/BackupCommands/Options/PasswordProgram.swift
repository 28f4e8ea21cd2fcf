import BackupCore
import Glibc
import SystemIO

/// A command, run by /bin/sh, that prints a password in the first line of its output. Its errors are shown, and it may use the
/// terminal: a password manager asks for its own password there.
enum PasswordProgram {
    private static let remedy: Message = "Run the command by hand: the first line of its output is the password."

    /// - Throws: `wrongPassword` when it fails; `usage` when it prints none; `interrupted`, and then the command is ended.
    static func read(_ command: String) throws(BackupError) -> SecretBytes {
        ProcessSecrecy.begin()
        let pipe = try Pipe()
        let process = try start(command, output: pipe.writer)
        let reader = pipe.takeReader()
        var hasEnded = false
        do throws(BackupError) {
            let line = try firstLine(of: reader)
            let exitCode = process.wait()
            hasEnded = true
            guard exitCode == 0 else {
                try Cancellation.check()
                throw BackupError(
                    .wrongPassword, "the command for the password has failed with exit code \(exitCode)", remedy: remedy)
            }
            return try line.get()
        } catch {
            // The number of a process that has ended may be another one's.
            if !hasEnded {
                kill(process.processID, SIGTERM)
                _ = process.wait()
            }
            throw error
        }
    }

    private static func start(
        _ command: String, output: borrowing OwnedDescriptor
    ) throws(BackupError) -> Subprocess {
        let output = try OwnedDescriptor.duplicate(output, from: 10)
        let errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10)
        guard errors >= 0 else { throw SystemCall.error(errno, action: "start a command", path: command) }
        defer { close(errors) }
        // Not in a process group of its own: from there, it could not ask on the terminal.
        return try Subprocess(
            "/bin/sh", ["/bin/sh", "-c", command], environment: Subprocess.environmentForOthers(),
            descriptors: [output.rawValue, errors], label: ("start a command", command))
    }

    /// Reads all of its output, so that a command with more lines does not fail for want of a reader.
    /// - Returns: also why there is no password, unless the command fails, which then is the reason.
    private static func firstLine(
        of reader: borrowing OwnedDescriptor
    ) throws(BackupError) -> Result<SecretBytes, BackupError> {
        let line: Result<SecretBytes, BackupError>
        do throws(BackupError) {
            line = .success(
                try PasswordFile.firstLine(
                    of: reader, path: nil, empty: "the command for the password has printed none", remedy: remedy))
        } catch {
            guard error.code == .usage else { throw error }
            line = .failure(error)
        }
        try drain(reader)
        return line
    }

    private static func drain(_ reader: borrowing OwnedDescriptor) throws(BackupError) {
        let number = reader.rawValue
        // The rest may be as secret as the first line.
        _ = try SecretBytes(count: PasswordFile.byteCountLimit) { (buffer) throws(BackupError) in
            while true {
                try Cancellation.check()
                var state = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                guard poll(&state, 1, 100) > 0 else { continue }
                let count = Glibc.read(number, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return }
            }
        }
    }
}
