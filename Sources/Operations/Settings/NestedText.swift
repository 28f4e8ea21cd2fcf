import BackupCore
import Yams

/// One entry of a mapping in a `store.yaml` that has lines of its own below its name: a remote, or a set of destinations.
struct NestedText {
    /// One of its settings.
    struct Value {
        let name: String
        /// One, unless the setting takes a list.
        let texts: [String]
        /// Counted from 1.
        let line: Int

        var text: String { texts.first ?? "" }
    }

    /// What such a mapping may hold.
    struct Form: Sendable {
        /// Of the mapping in `store.yaml`.
        let key: String
        /// Why a value that is not text is refused.
        let textProblem: Message
        let remedy: Message
        /// Settings that may have a list of texts.
        var lists: Set<String> = []
    }

    let name: String
    /// Counted from 1.
    let line: Int
    /// In the order of the file.
    let values: [Value]

    /// Its settings by their names.
    var content: [String: [String]] { Dictionary(values.map { ($0.name, $0.texts) }) { first, _ in first } }

    /// The entries in the value of the mapping.
    /// - Throws: `invalidContent` naming the line.
    static func all(in node: Node, _ form: Form, line: Int, path: String) throws(BackupError) -> [NestedText] {
        func invalid(_ line: Int, _ message: Message) -> BackupError {
            BackupError(.invalidContent, "line \(line): \(message)", path: path, remedy: form.remedy)
        }
        func pairs(in node: Node, of name: String, line: Int) throws(BackupError) -> [(key: Node, value: Node)] {
            guard let mapping = node.mapping, mapping.allSatisfy({ $0.key.scalar != nil }) else {
                throw invalid(line, "\(name) must have lines below it with names and values")
            }
            return mapping.map { ($0.key, $0.value) }
        }
        // An empty list, or one whose entries are all comments.
        if node.scalar?.string.isEmpty == true { return [] }
        var entries: [NestedText] = []
        for (name, value) in try pairs(in: node, of: form.key, line: line) {
            let found = name.mark?.line ?? line
            let values = try pairs(in: value, of: "\(form.key).\(MessageText.shortened(name.string ?? ""))", line: found)
            let entry = NestedText(
                name: name.string ?? "", line: found,
                values: try values.map { (name, value) throws(BackupError) in
                    guard let word = name.string, let texts = texts(value, isList: form.lists.contains(word)) else {
                        throw invalid(name.mark?.line ?? found, form.textProblem)
                    }
                    return Value(name: word, texts: texts, line: name.mark?.line ?? found)
                })
            // The parser takes 1 and "1" for different names.
            guard !entries.contains(where: { $0.name == entry.name }), entry.content.count == values.count else {
                throw invalid(found, "the name \(MessageText.shortened(entry.name)) or one of its settings is there twice")
            }
            entries.append(entry)
        }
        return entries
    }

    private static func texts(_ node: Node, isList: Bool) -> [String]? {
        if let text = node.scalar?.string { return [text] }
        guard isList, let list = node.sequence else { return nil }
        let texts = list.compactMap { $0.scalar?.string }
        return texts.count == list.count ? texts : nil
    }
}
