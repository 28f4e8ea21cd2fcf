import BackupCore

/// Detects an option that is given twice with two values: the parser would silently use the last one, and a user who believes that both databases are backed
/// up has a backup of one.
enum RepeatedOption {
    /// Options that collect their values.
    private static let collecting: [String: Set<String>] = [
        "--tag": ["snapshots"], "--keep-tag": ["forget"], "--add": ["tag"], "--remove": ["tag"], "--set": ["tag"],
    ]

    /// Short names of options with a value, where they do not collect values.
    private static let short: [String: (name: String, verbs: Set<String>)] = [
        "-o": ("--output", ["export", "app"]), "-l": ("--keep-last", ["forget"]),
    ]

    /// - Throws: `usage`.
    static func check(_ arguments: [String]) throws(BackupError) {
        let words = arguments.dropFirst().prefix { $0 != "--" }
        let verb = words.first { !$0.hasPrefix("-") } ?? ""
        var values: [String: String] = [:]
        var isValueOf: String?
        for word in words {
            if let name = isValueOf {
                isValueOf = nil
                // Without a value of its own it is a flag, and repeating a flag has no effect.
                if !word.hasPrefix("--") {
                    try note(name, word, verb, &values)
                    continue
                }
            }
            if let option = short[word], option.verbs.contains(verb) { isValueOf = option.name }
            guard word.hasPrefix("--") else { continue }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 {
                try note(String(parts[0]), String(parts[1]), verb, &values)
            } else {
                isValueOf = word
            }
        }
    }

    private static func note(
        _ name: String, _ value: String, _ verb: String, _ values: inout [String: String]
    ) throws(BackupError) {
        guard collecting[name]?.contains(verb) != true else { return }
        guard let before = values.updateValue(value, forKey: name), before != value else { return }
        throw BackupError(
            .usage, "\(name) is given twice: \(MessageText.shortened(before)) and \(MessageText.shortened(value))",
            remedy: "Give it once. For two databases or two folders, make two stores.")
    }
}
