/// The members of `restore/last.json` that say what became of the data, of a document with a line for each.
struct ReportExcerpt: Equatable {
    let result: String
    let strategy: String
    /// The name of the safety backup's file.
    let safetyBackup: String?

    /// - Returns: `nil` for an empty text.
    init?(_ text: String) {
        guard let result = Self.member("result", of: text), let strategy = Self.member("strategy", of: text) else { return nil }
        self.result = result
        self.strategy = strategy
        safetyBackup = Self.member("safetyBackup", of: text)
    }

    /// The name that the backup has for commands: the file's carries the same stamp.
    var safetyName: String? {
        guard let safetyBackup, let stamp = safetyBackup.firstMatch(of: /\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d/) else { return nil }
        return "~safety-\(stamp.output)"
    }

    /// A text member at the top of a document; `nil` for another value.
    private static func member(_ name: String, of text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("  \"\(name)\": \"") {
            return line.split(separator: "\"", omittingEmptySubsequences: false).dropFirst(3).first.map(String.init)
        }
        return nil
    }
}
