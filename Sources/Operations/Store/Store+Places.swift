import SystemIO

extension Store {
    /// The folders and files of the store at `path` according to its settings, in the order in which it opens them. Does not open the store.
    public static func places(of path: String) -> [String] {
        let paths = StorePaths(root: path)
        guard let settings = try? StoreSettings.read(paths.settings) else { return [path] }
        return [path] + [settings.repositoryPath, settings.databasePath, settings.mediaPath].compactMap { $0.map(paths.resolve) }
    }
}
