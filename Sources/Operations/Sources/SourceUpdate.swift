import AppData
import BackupCore
import BackupRepository

/// Brings what the repository has of a store's settings up to date between two backups. Other stores go by it when they prune: a longer time for removed
/// backups that is not known there until the next backup comes too late.
struct SourceUpdate {
    let paths: StorePaths
    let identity: StoreIdentity
    let repository: Repository

    /// Only a store that makes the source's backups has a say, and what is missing of settings that are cut off must not be lost.
    func run(_ settings: StoreSettings, _ definition: AppDefinition) throws(BackupError) {
        guard !identity.isQuiet, identity.adoption == nil, settings.hasEnd else { return }
        // A copy of the store has made a backup: this one is to begin a source of its own.
        let record = LastBackupRecord(path: paths.lastBackup)
        guard try record.backupOfCopy(identity.source, in: repository) == nil else { return }
        let document = try SourceDocument(identity, settings: settings, definition: definition, paths)
        try repository.write(document) { $0?.storeID == document.storeID }
    }
}

extension Store {
    /// Before backups are removed: their time of grace is what the settings say now. A removal does not fail because of it.
    func updateSource() {
        try? SourceUpdate(paths: paths, identity: identity, repository: repository).run(.read(paths.settings), definition)
    }
}
