import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct PasswordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change the password of an encrypted repository.",
        discussion: """
            Asks for the old password, and twice for the new one. No data is rewritten. The old password no longer opens the repository, but \
            does open copies of it that were made before.

            Example:
              backupfs passwd
              backupfs passwd --password-file old.txt --new-password-file new.txt
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Option(
        name: .long, help: ArgumentHelp("A file whose first line is the new password.", valueName: "file"), completion: .file())
    var newPasswordFile: String?

    func run() throws {
        let repository = try store.open().repository
        guard repository.isEncrypted else {
            throw BackupError(
                .notSupported, "the repository is not encrypted, so it has no password", path: repository.path,
                remedy: "Make an encrypted one with: backupfs init --encrypt")
        }
        let password: SecretBytes
        if let newPasswordFile {
            password = try PasswordFile.read(newPasswordFile)
        } else {
            password = try PasswordOptions.askForNewPassword(option: "--new-password-file")
        }
        try repository.changePassword(to: password)
        if output.json {
            Terminal.write(jsonLine: ["message_type": "password_changed", "repository": repository.path])
        } else {
            Terminal.write("The password of \(repository.path) has been changed.")
        }
    }
}
