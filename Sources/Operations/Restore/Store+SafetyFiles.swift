import BackupCore
import BackupRepository

/// File names of safety backups.
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

    /// Finds a safety backup by its file name in `safety/`, with or without the folder, or by its own name: of several, this store's own, and of those the
    /// newest.
    /// - Parameter candidates: the backups to choose from.
    func safetyBackup(named name: String, among candidates: [Snapshot]) -> Snapshot? {
        let name = name.hasPrefix(Self.safetyFolder) ? String(name.dropFirst(Self.safetyFolder.count)) : name
        let isCandidate = Set(candidates.map(\.id))
        if let own = safetyFiles.last(where: { isCandidate.contains($0.snapshot.id) && $0.name == name }) { return own.snapshot }
        let named = candidates.filter { $0.name == FileName(name) || safetyFile(of: $0).name == name }
        return named.last(where: owns) ?? named.last
    }
}
