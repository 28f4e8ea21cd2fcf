import BackupCore
import Operations

/// Changes a setting here and in the repository, where other stores may read it.
struct SettingsUpdate {
    let options: StoreOptions

    /// The setting takes effect here even if the repository cannot be updated.
    func set(_ name: SettingName, _ value: String?) throws(BackupError) {
        let file = try SettingsFile(storeAt: options.path())
        try file.set(name, value)
        do throws(BackupError) {
            try file.updateSource { (repository) throws(BackupError) in
                .password(try options.passwords.password(of: repository, asks: false))
            }
        } catch {
            guard name == .undeleteDays else { return }
            Terminal.complain("Other stores of the repository learn this with the next backup: \(error.message)")
        }
    }
}
