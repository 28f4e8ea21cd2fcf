import ArgumentParser
import BackupCore
import BackupRepository
import Glibc
import Operations
import SystemIO

/// The source of an encrypted repository's password: a file named by the command line or the environment, or the terminal. The
/// password itself cannot be an option or a variable: other programs could see it there.
struct PasswordOptions: ParsableArguments {
    static let fileVariable = "BACKUPFS_PASSWORD_FILE"

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A file whose first line is the password of an encrypted repository (default: $\(fileVariable), else asked for).",
            valueName: "file"), completion: .file())
    var passwordFile: String?

    init() {}

    /// The options for another command of this program.
    var arguments: [String] { passwordFile.map { ["--password-file", $0] } ?? [] }

    /// Opens a store, and its repository with the password if it needs one. Every command opens stores through here.
    /// - Parameters:
    ///   - masterKey: the repository's key, if another process has already unlocked it.
    ///   - log: overrides the log settings.
    ///   - asks: whether a user at the terminal may be asked.
    /// - Throws: `wrongPassword`; `usage` when a file is named for a repository without a password.
    func open(
        _ storePath: String, masterKey: SecretBytes? = nil, log: LogOverrides = .environment, asks: Bool = true,
        remote: String? = nil, look: ServerLook = .news, progress: ProgressHandler? = nil
    ) throws(BackupError) -> Store {
        let store = try StorageWatch.watching(storePath) { (watch) throws(BackupError) in
            let secret: RepositorySecretSource = { (repository) throws(BackupError) in
                if let masterKey { return .masterKey(masterKey) }
                return .password(try watch.paused { () throws(BackupError) in try password(of: repository, asks: asks) })
            }
            guard let remote else { return try Store.open(storePath, log: log, secret: secret, look: look) }
            return try Store.open(storePath, remote: remote, log: log, secret: secret, progress: progress)
        }
        // A user who relies on encryption must not continue without it.
        if passwordFile != nil, !store.repository.isEncrypted {
            throw BackupError(
                .usage, "the repository is not encrypted, but a password file was named", path: store.repository.path,
                remedy: "Leave out --password-file.")
        }
        if let unfinished = store.unfinishedRestore { Terminal.writeError("backupfs: \(unfinished.summary)") }
        return store
    }

    /// The password of an existing repository.
    func password(of repository: String, asks: Bool = true) throws(BackupError) -> SecretBytes {
        if let named = try fromFile() { return named }
        guard asks, Terminal.isInputTerminal else {
            throw BackupError(
                .wrongPassword, "the repository is encrypted, and no password was given", path: repository,
                remedy: "Name a file that holds it with --password-file or \(Self.fileVariable), or run this on a terminal.")
        }
        return try Terminal.askSecret("Password of \(repository): ")
    }

    /// A password for a new repository.
    func newPassword() throws(BackupError) -> SecretBytes {
        if let named = try fromFile() { return named }
        return try Self.askForNewPassword(option: "--password-file")
    }

    /// Asks twice: typing is not visible, and an unknown password means a lost repository.
    /// - Parameter option: the option that names a file instead.
    static func askForNewPassword(option: String) throws(BackupError) -> SecretBytes {
        guard Terminal.isInputTerminal else {
            throw BackupError(
                .usage, "no password was given", remedy: "Name a file that holds it with \(option), or run this on a terminal.")
        }
        let password = try Terminal.askSecret("New password: ")
        guard password.isEqual(to: try Terminal.askSecret("New password again: ")) else {
            throw BackupError(.usage, "the two passwords differ, and nothing was changed", remedy: "Try again.")
        }
        return password
    }

    private func fromFile() throws(BackupError) -> SecretBytes? {
        try PasswordFile.read(option: passwordFile, variable: Self.fileVariable)
    }
}

/// A file, or a pipe such as `/dev/stdin` or a shell's `<(…)`, whose first line is a password.
enum PasswordFile {
    static let byteCountLimit = 4096

    /// Reads the file that an option names, or else a variable of the environment.
    /// - Returns: `nil` when neither names one.
    static func read(option: String?, variable: String) throws(BackupError) -> SecretBytes? {
        if let option { return try read(option) }
        guard let path = getenv(variable).map({ String(cString: $0) }), !path.isEmpty else { return nil }
        return try read(path)
    }

    /// - Throws: `usage` when the first line is empty or too long; `notFound` and so on.
    static func read(_ path: String) throws(BackupError) -> SecretBytes {
        ProcessSecrecy.begin()
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        return try firstLine(
            of: descriptor, path: path, empty: "the password file's first line is empty",
            remedy: "The file's first line is the password.")
    }

    /// - Parameters:
    ///   - path: names the file in an error about the line.
    ///   - message: the error for an empty line.
    ///   - remedy: of an error about the line.
    static func firstLine(
        of descriptor: borrowing OwnedDescriptor, path: String?, empty message: Message, remedy: Message
    ) throws(BackupError) -> SecretBytes {
        let number = descriptor.rawValue
        var count = 0
        var failure: Int32 = 0
        let line = try SecretBytes(count: byteCountLimit + 1) { (buffer) throws(BackupError) in
            // A pipe delivers what is available, so read until the line ends.
            while count < buffer.count, !buffer[..<count].contains(UInt8(ascii: "\n")) {
                try Cancellation.check()
                // A command may take as long as a person does, and the user may end this meanwhile.
                var state = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                guard poll(&state, 1, 100) > 0 else { continue }
                let result = Glibc.read(number, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                if result < 0, errno == EINTR { continue }
                if result < 0 { failure = errno }
                if result <= 0 { return }
                count += result
            }
        }
        if failure != 0 { throw SystemCall.error(failure, action: "read the password", path: descriptor.path) }
        return try line.withUnsafeBytes { (bytes) throws(BackupError) in
            var first = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            if let end = first.firstIndex(of: UInt8(ascii: "\n")) { first = UnsafeRawBufferPointer(rebasing: first[..<end]) }
            // Other systems' editors end lines this way.
            if first.last == UInt8(ascii: "\r") { first = UnsafeRawBufferPointer(rebasing: first.dropLast()) }
            guard !first.isEmpty, first.count <= byteCountLimit else {
                throw BackupError(
                    .usage,
                    first.isEmpty ? message : "the password is longer than \(byteCountLimit) bytes", path: path, remedy: remedy)
            }
            return SecretBytes(copying: first)
        }
    }
}

extension Terminal {
    private enum Key {
        static let interrupt: UInt8 = 3
        static let endOfInput: UInt8 = 4
        static let backspace: UInt8 = 8
        static let lineFeed: UInt8 = 10
        static let carriageReturn: UInt8 = 13
        static let eraseLine: UInt8 = 21
        static let delete: UInt8 = 127
    }

    /// Asks for a line that is not echoed.
    /// - Throws: `interrupted` for Ctrl-C; `usage` for an empty line.
    static func askSecret(_ question: Message) throws(BackupError) -> SecretBytes {
        ProcessSecrecy.begin()
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else {
            throw SystemCall.error(errno, action: "ask for a password", path: "terminal")
        }
        var silent = before
        // Keys arrive one by one, and signal keys as bytes: whatever is typed, this program restores the terminal before it ends.
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
        // Not TCSAFLUSH: it would discard typed-ahead input.
        tcsetattr(STDIN_FILENO, TCSADRAIN, &silent)
        defer { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
        // Not before echo is off: a quick answer would be visible.
        writeError(prompt: question)
        defer { writeError(prompt: "\n") }
        var count = 0
        let line = try SecretBytes(count: PasswordFile.byteCountLimit) { (buffer) throws(BackupError) in
            count = try readLine(into: buffer)
        }
        guard count > 0 else { throw BackupError(.usage, "no password was typed", remedy: "Try again.") }
        return line.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// - Returns: the length of the line in bytes.
    private static func readLine(into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        var count = 0
        while true {
            var byte: UInt8 = 0
            let result = read(STDIN_FILENO, &byte, 1)
            if result < 0, errno == EINTR { continue }
            guard result == 1 else { return count }
            switch byte {
            case Key.lineFeed, Key.carriageReturn, Key.endOfInput: return count
            case Key.interrupt: throw BackupError(.interrupted, "cancelled; nothing was changed")
            case Key.eraseLine: count = 0
            case Key.backspace, Key.delete:
                // Removes all bytes of a UTF-8 character.
                while count > 0 {
                    count -= 1
                    if buffer[count] & 0xc0 != 0x80 { break }
                }
            default:
                guard count < buffer.count else { throw BackupError(.usage, "the password is too long") }
                buffer[count] = byte
                count += 1
            }
        }
    }
}
