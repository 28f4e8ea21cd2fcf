import BackupCore

/// What a name in `restore/` says about the file.
enum DropName {
    /// Of browsers, copy programs, editors' backups, and the files that SQLite keeps beside a database.
    private static let unfinishedSuffixes = [
        ".part", ".partial", ".filepart", ".crdownload", ".download", ".opdownload", ".aria2", ".tmp", "~", "-journal", "-wal",
        "-shm",
    ]
    /// Office programs' lock files.
    private static let unfinishedPrefixes = [".", "~$"]

    /// Names that copy programs use while they work: such files are kept, but not restored until they get a final name.
    static func isUnfinished(_ name: FileName) -> Bool {
        let text = name.description.lowercased()
        // `#x.json#` is Emacs' auto-save file while x.json is edited.
        if text.hasPrefix("#"), text.hasSuffix("#") { return true }
        return unfinishedPrefixes.contains { text.hasPrefix($0) } || unfinishedSuffixes.contains { text.hasSuffix($0) }
    }

    /// The name of the database that a file with this name would be a log or journal of.
    static func database(ofLog name: FileName) -> FileName? {
        for suffix in ["-wal", "-journal"] where name.bytes.count > suffix.utf8.count {
            if name.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) {
                return FileName(bytes: name.bytes.dropLast(suffix.utf8.count))
            }
        }
        return nil
    }

    /// Names that this program uses itself: no file can be dropped under them.
    static func isReserved(_ name: FileName, purpose: DropSubmission.Purpose) -> Bool {
        switch purpose {
        // A strategy that the app does not have must not be treated as a file name: the file would be restored with another strategy.
        case .restore: ["last.json", "last.txt", "preview", "replace", "merge", "skip"].contains(name.description)
        case .strategy: false
        case .preview: name.description.hasSuffix(".preview.txt") || name.description.hasSuffix(".preview.json")
        }
    }

    /// Folders that file managers try to create or look for.
    static func isTrash(_ name: FileName) -> Bool { name.description.hasPrefix(".Trash") }
}
