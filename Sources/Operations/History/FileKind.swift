import BackupCore

/// What a file is to a store: what may be said of it where its name may not.
public enum FileKind: String, CaseIterable, Sendable {
    case database
    case media
    case repository
    case settings
    /// Another file of the store's own.
    case store
    /// What was handed in to be restored.
    case imported
    case other
}

extension Store {
    /// - Parameter path: of an error.
    /// - Returns: `nil` for what is no path: a name that somebody has given.
    func kind(of path: String) -> FileKind? {
        guard path.hasPrefix("/") else { return nil }
        func isIn(_ folder: String) -> Bool { path == folder || path.hasPrefix("\(folder)/") }
        // The database may have a `-wal` beside it.
        if path.hasPrefix(database.path) || (try? database.realPath()).map(path.hasPrefix) == true { return .database }
        if let mediaPath, isIn(mediaPath) { return .media }
        if isIn(repository.path) { return .repository }
        if path == paths.settings { return .settings }
        return isIn(paths.root) ? .store : .other
    }
}
