import AppData
import BackupCore
import BackupRepository

/// The names of backups as flat files, in `exports/` and `safety/`.
extension Store {
    /// Their folder in the mount, as reports name it.
    static let safetyFolder = "safety/"

    /// A safety backup as one flat file.
    public struct SafetyFile: Sendable {
        public let snapshot: Snapshot
        /// The name in `safety/`.
        public let name: String
    }

    /// This store's own, oldest first, as of the last refresh of the repository.
    public var safetyFiles: [SafetyFile] {
        let own = ownSnapshots(kind: .safety)
        return zip(own, UniqueFileNames.make(own.map { safetyFile(of: $0).name })).map { SafetyFile(snapshot: $0, name: $1) }
    }

    /// The file name of a safety backup in `safety/`; for another store's backup, the name that it would have there.
    public func nameInSafety(_ snapshot: Snapshot) -> String {
        safetyFiles.first { $0.snapshot.id == snapshot.id }?.name ?? safetyFile(of: snapshot).name
    }

    /// Finds a safety backup by its file name in `safety/`, with or without the folder, or by its own name: of several, this
    /// store's own, and of those the newest.
    /// - Parameter candidates: the backups to choose from.
    func safetyBackup(named name: String, among candidates: [Snapshot]) -> Snapshot? {
        let name = name.hasPrefix(Self.safetyFolder) ? String(name.dropFirst(Self.safetyFolder.count)) : name
        let isCandidate = Set(candidates.map(\.id))
        if let own = safetyFiles.last(where: { isCandidate.contains($0.snapshot.id) && $0.name == name }) { return own.snapshot }
        let named = candidates.filter { $0.name == FileName(name) || safetyFile(of: $0).name == name }
        return named.last(where: owns) ?? named.last
    }

    /// The app's own file name for a backup, in `exports/`, and whether the file is the archive, which depends on the name.
    public func exportFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) {
        let name = definition.fileNames.backupName(stamp: snapshot.stamp, snapshot.channel)
        return (name, name.hasSuffix(".zip"))
    }

    /// The name of a safety backup in `safety/`, and whether it is the archive: an app with media needs all of it. A database
    /// that no definition describes needs its tables, which an export does not create.
    public func safetyFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) {
        Self.safetyFile(of: snapshot, definition, hasMedia: mediaPath != nil)
    }

    static func safetyFile(
        of snapshot: Snapshot, _ definition: AppDefinition, hasMedia: Bool
    ) -> (name: String, isArchive: Bool) {
        let name = definition.fileNames.safety.name(stamp: snapshot.stamp)
        guard hasMedia || definition.coversWholeDatabase else { return (name, false) }
        if name.hasSuffix(".zip") { return (name, true) }
        let stem = name.hasSuffix(".json") ? String(name.dropLast(5)) : name
        return (stem + ".zip", true)
    }
}
