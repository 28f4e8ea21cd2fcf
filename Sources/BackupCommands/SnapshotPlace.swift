/// `SNAP:path` on a command line.
enum SnapshotPlace {
    /// The path is empty when there is none.
    static func split(_ text: String) -> (name: String, path: String) {
        guard let colon = text.firstIndex(of: ":") else { return (text, "") }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
