import BackupCore

extension FileSystem {
    /// Stands between a file's name and what tells its draft from others: a file that is replaced in one step is written beside the old one first.
    static let draftMark = ".tmp-"

    /// Drafts of files in one folder that are there now, as their writers work or because they died of it.
    /// - Parameter names: of the files that they were to replace.
    /// - Returns: their paths; none when the folder is not there.
    public static func drafts(of names: [String], in folder: String) throws(BackupError) -> [String] {
        guard try exists(folder) else { return [] }
        let prefixes = names.map { $0 + draftMark }
        return try DirectoryReader(path: folder).names().map(\.description).filter { name in
            prefixes.contains { name.hasPrefix($0) }
        }.map { "\(folder)/\($0)" }
    }
}
