import AppData
import BackupCore
import BackupRepository

/// Updates a store's settings in the repository between two backups. Other stores use them when they prune: a longer time for removed backups that they learn
/// of only with the next backup comes too late.
struct SourceUpdate {
    let paths: StorePaths
    let identity: StoreIdentity
    let repository: Repository

    /// Only a store that makes the source's backups may write, and settings that are cut off must not overwrite complete ones.
    func run(_ settings: StoreSettings, _ definition: AppDefinition) throws(BackupError) {
        guard !identity.isQuiet, identity.adoption == nil, settings.hasEnd else { return }
        // A copy of the store has made a backup: this store is about to begin its own source.
        let record = LastBackupRecord(path: paths.lastBackup)
        guard try record.backupOfCopy(identity.source, in: repository) == nil else { return }
        let document = try SourceDocument(identity, settings: settings, definition: definition, paths)
        try repository.write(document) { $0?.storeID == document.storeID }
    }
}

extension Store {
    /// Called before backups are removed: their grace period follows the current settings. A removal does not fail because of it.
    func updateSource() {
        try? SourceUpdate(paths: paths, identity: identity, repository: repository).run(.read(paths.settings), definition)
    }
}
