import BackupCore

extension FileSystem {
    /// Separates a file's name from the suffix of its draft: an atomic replacement is first written beside the old file.
    static let draftMark = ".tmp-"

    /// Drafts that exist now in one folder, of active writers and of writers that died.
    /// - Parameter names: the files that the drafts were to replace.
    /// - Returns: their paths; none when the folder does not exist.
    public static func drafts(of names: [String], in folder: String) throws(BackupError) -> [String] {
        guard try exists(folder) else { return [] }
        let prefixes = names.map { $0 + draftMark }
        return try DirectoryReader(path: folder).names().map(\.description).filter { name in
            prefixes.contains { name.hasPrefix($0) }
        }.map { "\(folder)/\($0)" }
    }
}
