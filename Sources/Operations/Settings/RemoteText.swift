import BackupCore
import Yams

/// The text of one remote in a `store.yaml`.
struct RemoteText {
    /// Of the mapping in `store.yaml`.
    static let key = "remotes"

    let name: String
    /// Counted from 1.
    let line: Int
    /// In the order of the file.
    let values: [NestedText.Value]

    /// The settings by their names.
    var content: [String: String] { Dictionary(values.map { ($0.name, $0.text) }) { first, _ in first } }

    private static let form = NestedText.Form(
        key: key, textProblem: "every setting of a remote is a name and a text",
        remedy: "See the example in the page about settings, or add a remote with: backupfs remote add")

    /// The remotes in the value of `remotes`.
    /// - Throws: `invalidContent` naming the line.
    static func all(in node: Node, line: Int, path: String) throws(BackupError) -> [RemoteText] {
        try NestedText.all(in: node, form, line: line, path: path).map {
            RemoteText(name: $0.name, line: $0.line, values: $0.values)
        }
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
