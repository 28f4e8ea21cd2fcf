import BackupCore
import Yams

/// The text of one remote in a `store.yaml`.
struct RemoteText {
    /// One of its settings.
    struct Value {
        let name: String
        let text: String
        /// Counted from 1.
        let line: Int
    }

    /// Of the mapping in `store.yaml`.
    static let key = "remotes"

    let name: String
    /// Counted from 1.
    let line: Int
    /// In the order of the file.
    let values: [Value]

    /// The settings by their names.
    var content: [String: String] { Dictionary(values.map { ($0.name, $0.text) }) { first, _ in first } }

    /// The remotes in the value of `remotes`.
    /// - Throws: `invalidContent` naming the line.
    static func all(in node: Node, line: Int, path: String) throws(BackupError) -> [RemoteText] {
        // An empty list, or one whose remotes are all comments.
        if node.scalar?.string.isEmpty == true { return [] }
        var remotes: [RemoteText] = []
        for (name, value) in try pairs(in: node, of: "\(key)", line: line, path) {
            let found = name.mark?.line ?? line
            let values = try pairs(in: value, of: "\(key).\(MessageText.shortened(name.string ?? ""))", line: found, path)
            let remote = RemoteText(
                name: name.string ?? "", line: found,
                values: try values.map { (name, value) throws(BackupError) in
                    guard let word = name.string, let text = value.scalar?.string else {
                        throw invalid(name.mark?.line ?? found, "every setting of a remote is a name and a text", path)
                    }
                    return Value(name: word, text: text, line: name.mark?.line ?? found)
                })
            // The parser takes 1 and "1" for different names.
            guard !remotes.contains(where: { $0.name == remote.name }), remote.content.count == values.count else {
                throw invalid(found, "the name \(MessageText.shortened(remote.name)) or one of its settings is there twice", path)
            }
            remotes.append(remote)
        }
        return remotes
    }

    private static func pairs(
        in node: Node, of name: String, line: Int, _ path: String
    ) throws(BackupError) -> [(key: Node, value: Node)] {
        guard let mapping = node.mapping, mapping.allSatisfy({ $0.key.scalar != nil }) else {
            throw invalid(line, "\(name) must have lines below it with names and values", path)
        }
        return mapping.map { ($0.key, $0.value) }
    }

    private static func invalid(_ line: Int, _ message: Message, _ path: String) -> BackupError {
        BackupError(
            .invalidContent, "line \(line): \(message)", path: path,
            remedy: "See the example in the page about settings, or add a remote with: backupfs remote add")
    }

    /// The remote.
    /// - Returns: also all problems, each beginning with its line.
    func settings(path: String) -> (remote: RemoteSettings?, problems: [BackupError]) {
        var problems: [BackupError] = []
        func note(_ error: BackupError, _ setting: String?, _ line: Int) {
            let place = ([Self.key, MessageText.shortened(name)] + (setting.map { [$0] } ?? [])).joined(separator: ".")
            problems.append(error.with(.invalidContent, "line \(line): \(place): \(error.message)", path: path))
        }
        var remote: RemoteSettings
        do throws(BackupError) {
            remote = try RemoteSettings(name: name, url: "")
        } catch {
            note(error, nil, line)
            return (nil, problems)
        }
        for value in values {
            do throws(BackupError) {
                guard let setting = RemoteSetting.named(value.name) else { throw Self.unknown(value.name) }
                try setting.take(&remote, value.text)
            } catch {
                note(error, MessageText.shortened(value.name), value.line)
            }
        }
        let url = values.first { $0.name == RemoteSetting.url.name }
        if url == nil {
            note(
                BackupError(
                    .invalidContent, "it has no url", remedy: "Add one: url: \"\(RemoteSetting.url.example)\", or a folder."),
                nil, line)
        } else if problems.isEmpty {
            do throws(BackupError) {
                try remote.check()
            } catch {
                note(error, RemoteSetting.url.name, url?.line ?? line)
            }
        }
        return (problems.isEmpty ? remote : nil, problems)
    }

    private static func unknown(_ word: String) -> BackupError {
        let names = RemoteSetting.all.map(\.name)
        let meant = SpellingSuggestion.nearest(to: word, among: names)
        return BackupError(
            .invalidContent, "a remote has no such setting",
            remedy: meant.map { "Did you mean \($0)?" } ?? "Remove it. There are: \(names.joined(separator: ", ")).")
    }
}
