import ArgumentParser
import BackupCore
import Glibc
import Operations
import SystemIO

/// The source of an encrypted repository's password: a file named by the command line or the environment, or the terminal. The password itself cannot be an
/// option or a variable: other programs could see it there.
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
        _ storePath: String, masterKey: SecretBytes? = nil, log: LogOverrides = .environment, asks: Bool = true
    ) throws(BackupError) -> Store {
        let store = try StorageWatch.watching(storePath) { (watch) throws(BackupError) in
            try Store.open(storePath, log: log) { (repository) throws(BackupError) in
                if let masterKey { return .masterKey(masterKey) }
                return .password(try watch.paused { () throws(BackupError) in try password(of: repository, asks: asks) })
            }
        }
        // A user who relies on encryption must not continue without it.
        if passwordFile != nil, !store.repository.isEncrypted {
            throw BackupError(
                .usage, "the repository is not encrypted, but a password file was named", path: store.repository.path,
                remedy: "Leave out --password-file.")
        }
        if let unfinished = store.unfinishedRestore { Terminal.complain("backupfs: \(unfinished.summary)") }
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
        if let passwordFile { return try PasswordFile.read(passwordFile) }
        if let path = getenv(Self.fileVariable).map({ String(cString: $0) }), !path.isEmpty { return try PasswordFile.read(path) }
        return nil
    }
}
