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
        guard !identity.isQuiet, identity.adoption == nil, settings.hasEnd, !isOfCopy else { return }
        let document = try SourceDocument(identity, settings: settings, definition: definition, paths)
        try repository.write(document) { $0?.storeID == document.storeID }
    }

    /// Whether a copy of the store has made a backup: this one is to begin a source of its own then.
    private var isOfCopy: Bool {
        guard let place = LastBackupRecord(path: paths.lastBackup).read(), place.source == identity.source else { return false }
        return repository.snapshots().contains { $0.source == identity.source && place.precludes($0) }
    }
}

extension Store {
    /// Before backups are removed: their time of grace is what the settings say now. A removal does not fail because of it.
    func updateSource() {
        try? SourceUpdate(paths: paths, identity: identity, repository: repository).run(.read(paths.settings), definition)
    }
}
