import BackupCore
import Operations

/// Changes a setting, and tells the repository of it, where other stores may go by it.
struct SettingsUpdate {
    let options: StoreOptions

    /// That the repository cannot be told does not keep the setting from being in force here.
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
