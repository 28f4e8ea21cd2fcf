import BackupCore

/// What a name in `restore/` says about the file.
enum DropName {
    private static let unfinishedSuffixes = [".part", ".partial", ".crdownload", ".tmp", "~"]

    /// Names that copy programs use while they work: such files are kept, but not restored until they get a final name.
    static func isUnfinished(_ name: FileName) -> Bool {
        if name.bytes.first == UInt8(ascii: ".") { return true }
        let text = name.description.lowercased()
        return unfinishedSuffixes.contains { text.hasSuffix($0) }
    }

    /// Names this program makes itself: nobody may drop a file of that name.
    static func isReserved(_ name: FileName, purpose: DropSubmission.Purpose) -> Bool {
        switch purpose {
        // A strategy that the app does not have must not be taken for the name of a file, which would be restored with another one.
        case .restore: ["last.json", "last.txt", "preview", "replace", "merge", "skip"].contains(name.description)
        case .strategy: false
        case .preview: name.description.hasSuffix(".preview.txt") || name.description.hasSuffix(".preview.json")
        }
    }

    /// Folders that file managers try to make or look for.
    static func isTrash(_ name: FileName) -> Bool { name.description.hasPrefix(".Trash") }
}
