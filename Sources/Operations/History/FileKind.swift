import BackupCore

/// What a file is to a store: safe to log where the file's name is not.
public enum FileKind: String, CaseIterable, Sendable {
    case database
    case media
    case repository
    case settings
    /// Another file of the store.
    case store
    /// A file submitted for a restore.
    case imported
    case other
}

extension Store {
    /// - Parameter path: the path in an error.
    /// - Returns: `nil` for a value that is not a path, such as a name that the user entered.
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
