import BackupCore

/// Changes of the remotes in a `store.yaml`, line by line. All other lines stay as they are, and so do the lines of a remote that
/// do not change.
extension SettingsText {
    /// In a new file.
    static let remotesExample: String = {
        let settings = RemoteSetting.all.map { "#     \($0.name): \(quoted($0.example))\n" }.joined()
        return """
            # Places outside this machine for copies of the backups. Add one with: backupfs remote add NAME URL
            # A remote needs only its url: on an S3-compatible server, or a folder.
            # \(RemoteText.key):
            #   offsite:

            """ + settings
    }()

    /// Adds a remote, or changes the one with its name.
    /// - Throws: `invalidContent` when the text has a form that can only be edited by hand.
    mutating func setRemote(_ remote: RemoteSettings) throws(BackupError) {
        let name = "\(RemoteText.key).\(remote.name)"
        let old = remotes.first { $0.name == remote.name }
        var lines = SettingsLines(text)
        var expected = remotes.map { (name: $0.name, content: $0.content) }
        let content = Self.content(of: remote, keeping: old)
        if let old, let index = expected.firstIndex(where: { $0.name == old.name }) {
            expected[index].content = Dictionary(content) { first, _ in first }
            try Self.change(old, to: content, in: &lines, orThrow: Self.isForEditors(name, path))
        } else {
            expected.append((remote.name, Dictionary(content) { first, _ in first }))
            try add(remote.name, content, to: &lines)
        }
        try replace(with: lines, entries: entries.mapValues(\.value), remotes: expected, changing: name)
    }

    /// Removes a remote with its comments, if there is one of this name.
    /// - Throws: `invalidContent` when the text has a form that can only be edited by hand.
    mutating func removeRemote(_ name: String) throws(BackupError) {
        guard let old = remotes.first(where: { $0.name == name }) else { return }
        let shown = "\(RemoteText.key).\(name)"
        var lines = SettingsLines(text)
        let list = try remotesLine(in: lines)
        let start = old.line - 1
        guard Self.isKeyLine(lines[start], name) else { throw Self.isForEditors(shown, path) }
        lines.remove(start..<lines.blockEnd(start))
        if let list, lines[list] == "\(RemoteText.key):", lines.blockEnd(list) == list + 1 { lines.remove(list..<list + 1) }
        let expected = remotes.filter { $0.name != name }.map { (name: $0.name, content: $0.content) }
        try replace(with: lines, entries: entries.mapValues(\.value), remotes: expected, changing: shown)
    }

    /// Makes comments of all remotes.
    /// - Throws: `invalidContent` when the text has a form that can only be edited by hand.
    mutating func commentOutRemotes() throws(BackupError) {
        var lines = SettingsLines(text)
        guard let list = try remotesLine(in: lines) else { return }
        for index in list..<lines.blockEnd(list) { lines[index] = lines[index].map { "# \($0)" } }
        try replace(with: lines, entries: entries.mapValues(\.value), remotes: [], changing: RemoteText.key)
    }

    /// The settings of a remote as they are to be in the text, in their order. Those that mean the same keep their spelling.
    private static func content(of remote: RemoteSettings, keeping old: RemoteText?) -> [(String, String)] {
        let kept = old?.content ?? [:]
        return RemoteSetting.all.compactMap { setting in
            let text = setting.text(remote)
            if let written = kept[setting.name], var probe = try? RemoteSettings(name: remote.name, url: ""),
                (try? setting.take(&probe, written)) != nil, setting.text(probe) == text
            {
                return (setting.name, written)
            }
            return text.map { (setting.name, $0) }
        }
    }

    private mutating func add(_ name: String, _ content: [(String, String)], to lines: inout SettingsLines) throws(BackupError) {
        guard let list = try remotesLine(in: lines) else {
            lines.append(["\(RemoteText.key):"] + Self.block(name, content, outer: 2, inner: 4), before: Self.endLine)
            return
        }
        let outer = remotes.first.map { lines.indentation($0.line - 1) } ?? 2
        let inner = remotes.first?.values.first.map { lines.indentation($0.line - 1) } ?? outer + 2
        guard outer > 0, inner > outer else { throw Self.isForEditors(RemoteText.key, path) }
        lines.insert(Self.block(name, content, outer: outer, inner: inner), at: lines.blockEnd(list))
    }

    private static func block(_ name: String, _ content: [(String, String)], outer: Int, inner: Int) -> [String] {
        [String(repeating: " ", count: outer) + "\(name):"] + content.map { line($0, indentation: inner) }
    }

    private static func line(_ setting: (name: String, text: String), indentation: Int) -> String {
        String(repeating: " ", count: indentation) + "\(setting.name): \(quoted(setting.text))"
    }

    private static func change(
        _ old: RemoteText, to content: [(String, String)], in lines: inout SettingsLines,
        orThrow refusal: @autoclosure () -> BackupError
    ) throws(BackupError) {
        guard isKeyLine(lines[old.line - 1], old.name), let first = old.values.first else { throw refusal() }
        let indentation = lines.indentation(first.line - 1)
        // From the end, so that the numbers of the lines before stay.
        let known = Set(old.values.map(\.name))
        let last = old.values.map(\.line).max() ?? old.line
        lines.insert(
            content.filter { !known.contains($0.0) }.map { line($0, indentation: indentation) }, at: lines.blockEnd(last - 1))
        for value in old.values.sorted(by: { $0.line > $1.line }) {
            guard isKeyLine(lines[value.line - 1], value.name, isAlone: false) else { throw refusal() }
            let new = content.first { $0.0 == value.name }
            if let new, new.1 == value.text { continue }
            let range = value.line - 1..<lines.blockEnd(value.line - 1)
            if let new {
                lines[range.lowerBound] = line(new, indentation: indentation)
            } else {
                lines.remove(range)
            }
        }
    }

    /// The line of the mapping; `nil` for none.
    private func remotesLine(in lines: SettingsLines) throws(BackupError) -> Int? {
        let indices = (0..<lines.count).filter { Self.isKeyLine(lines[$0], RemoteText.key) && lines.indentation($0) == 0 }
        guard indices.count <= 1, indices.first.map({ index in remotes.allSatisfy { $0.line - 1 > index } }) ?? remotes.isEmpty
        else { throw Self.isForEditors(RemoteText.key, path) }
        return indices.first
    }

    /// Whether a line has a name and a colon.
    /// - Parameter isAlone: whether nothing but a comment follows.
    static func isKeyLine(_ line: String?, _ name: String, isAlone: Bool = true) -> Bool {
        guard let line else { return false }
        let text = line.drop { $0 == " " }
        for spelling in [name, "\"\(name)\"", "'\(name)'"] where text.hasPrefix("\(spelling):") {
            let rest = text.dropFirst(spelling.count + 1)
            guard isAlone else { return rest.isEmpty || rest.hasPrefix(" ") }
            let tail = rest.drop { $0 == " " || $0 == "\t" }
            return tail.isEmpty || (tail.hasPrefix("#") && tail.count < rest.count)
        }
        return false
    }
}
