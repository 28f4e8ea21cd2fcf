import BackupCore
import BackupRepository

/// What safety backups are called.
extension Store {
    /// The folder of the mount that they lie in, as reports name them.
    static let safetyFolder = "safety/"

    /// A safety backup as one flat file.
    public struct SafetyFile: Sendable {
        public let snapshot: Snapshot
        /// As `safety/` shows it.
        public let name: String
    }

    /// This store's own, oldest first, as of the last look at the repository.
    public var safetyFiles: [SafetyFile] {
        let own = ownSnapshots(kind: .safety)
        return zip(own, UniqueFileNames.make(own.map { safetyFile(of: $0).name })).map { SafetyFile(snapshot: $0, name: $1) }
    }

    /// The name of a safety backup's file in `safety/`; of another store's, what it would have there.
    public func nameInSafety(_ snapshot: Snapshot) -> String {
        safetyFiles.first { $0.snapshot.id == snapshot.id }?.name ?? safetyFile(of: snapshot).name
    }

    /// A safety backup by its file's name in `safety/`, with or without the folder, or by its own name: of several this store's own, and of those the newest.
    /// - Parameter candidates: those that may be meant.
    func safetyBackup(named name: String, among candidates: [Snapshot]) -> Snapshot? {
        let name = name.hasPrefix(Self.safetyFolder) ? String(name.dropFirst(Self.safetyFolder.count)) : name
        let isCandidate = Set(candidates.map(\.id))
        if let own = safetyFiles.last(where: { isCandidate.contains($0.snapshot.id) && $0.name == name }) { return own.snapshot }
        let named = candidates.filter { $0.name == FileName(name) || safetyFile(of: $0).name == name }
        return named.last(where: owns) ?? named.last
    }
}
