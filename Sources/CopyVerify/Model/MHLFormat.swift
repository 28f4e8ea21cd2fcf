import BackupCore

/// Names and limits of ASC MHL 2.
enum MHLFormat {
    static let folder = ListName.history
    static let chain: FileName = "ascmhl_chain.xml"
    static let ending = ListName.generationEnding
    /// Patterns of names that every generation leaves out.
    static let ignoredPatterns = [".DS_Store", "ascmhl", "ascmhl/"]
    /// Those that a history can have, in the order of its schema.
    static let order: [HashAlgorithm] = [.c4, .md5, .sha1, .xxh128, .xxh3, .xxh64]
    static let algorithms = Set(order)

    /// The number of a generation, from `0001_NAME_DATE_TIMEZ.mhl`; `nil` for another file.
    static func generation(of name: FileName) -> Int? {
        let text = name.description
        guard text.hasSuffix(ending), !text.hasPrefix("._") else { return nil }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let next = text.dropFirst(digits.count).first
        // No history has a billion of them.
        guard (4...9).contains(digits.count), next == "_" || next == "." else { return nil }
        return Int(digits)
    }
}
