import ArgumentParser
import BackupCore
import BackupRepository
import Operations
import SystemIO

/// The source of the password of a second repository: as `PasswordOptions`, with other names, so that one command line can open
/// two encrypted repositories.
struct OtherPasswordOptions: ParsableArguments {
    static let fileVariable = "BACKUPFS_OTHER_PASSWORD_FILE"

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A file whose first line is the password of the other repository, if it is encrypted (default: $\(fileVariable), else asked for).",
            valueName: "file"), completion: .file())
    var otherPasswordFile: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A command, run by /bin/sh, that prints the password of the other repository, such as a password manager's.",
            valueName: "command"))
    var otherPasswordCommand: String?

    init() {}

    func validate() throws {
        guard otherPasswordFile != nil, otherPasswordCommand != nil else { return }
        throw ValidationError("Name a file with the password of the other repository or a command that prints it, but not both.")
    }

    /// The password of an existing repository.
    func password(of repository: String) throws(BackupError) -> SecretBytes {
        if let named = try given() { return named }
        guard Terminal.isInputTerminal else {
            throw BackupError(
                .wrongPassword, "the other repository is encrypted, and no password was given", path: repository,
                remedy: "Name a file that holds it with --other-password-file or \(Self.fileVariable), or run this on a terminal."
            )
        }
        return try Terminal.askSecret("Password of \(repository): ")
    }

    /// A password for a new repository.
    func newPassword() throws(BackupError) -> SecretBytes {
        if let named = try given() { return named }
        return try PasswordOptions.askForNewPassword(option: "--other-password-file")
    }

    private func given() throws(BackupError) -> SecretBytes? {
        if let otherPasswordCommand { return try PasswordProgram.read(otherPasswordCommand) }
        return try PasswordFile.read(option: otherPasswordFile, variable: Self.fileVariable)
    }
}
