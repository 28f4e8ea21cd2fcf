import SystemIO

extension Store {
    /// The folders and files of the store at `path`, as its settings have them, in the order in which it opens them. It is not opened for that.
    public static func places(of path: String) -> [String] {
        let paths = StorePaths(root: path)
        guard let settings = try? StoreSettings.read(paths.settings) else { return [path] }
        return [path] + [settings.repositoryPath, settings.databasePath, settings.mediaPath].compactMap { $0.map(paths.resolve) }
    }
}
