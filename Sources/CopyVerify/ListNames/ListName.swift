import BackupCore

/// The names of lists of checksums, and of the files that belong to them.
enum ListName {
    /// The folder of an ASC MHL history.
    static let history: FileName = "ascmhl"
    /// Of a generation of ASC MHL.
    static let generationEnding = ".mhl"
    /// The file that makes a folder a bag.
    static let bagDeclaration = "bagit.txt"

    private static let sumsEndings = [
        ".md5", ".sha1", ".sha256", ".sha512", ".xxh64", ".xxh128", "md5sums", "sha1sums", "sha256sums", "sha512sums",
        "md5sum.txt", "md5sums.txt", "sha1sums.txt", "sha256sums.txt", "sha512sums.txt",
    ]

    /// Whether it is one of a list of any kind, or of a file that belongs to one.
    static func isOfList(_ name: FileName, isFolder: Bool) -> Bool {
        if isFolder { return name == history }
        return isSums(name) || isBagFile(name) || name.description.lowercased().hasSuffix(generationEnding)
    }

    /// Whether people give it to a list that coreutils or BSD have made.
    static func isSums(_ name: FileName) -> Bool {
        let text = name.description.lowercased()
        return sumsEndings.contains { text.hasSuffix($0) && !text.hasPrefix("._") }
    }

    /// Whether the name is that of a file of the bag itself, directly in its folder.
    static func isBagFile(_ name: FileName) -> Bool {
        let text = name.description
        return text == bagDeclaration || text == "bag-info.txt" || text == "fetch.txt" || isBagList(text)
    }

    static func isBagList(_ name: String) -> Bool {
        name.hasSuffix(".txt") && (name.hasPrefix("manifest-") || name.hasPrefix("tagmanifest-"))
    }
}
