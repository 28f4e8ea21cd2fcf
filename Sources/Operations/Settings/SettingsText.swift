import BackupCore
import SystemIO
import Yams

/// The text of a `store.yaml`: names and values, one per line, and the comments of its editors.
struct SettingsText {
    /// One setting in the text.
    struct Entry {
        let value: String
        /// Counted from 1.
        let line: Int
    }

    let path: String
    private(set) var text: String
    private(set) var entries: [Setting: Entry]
    /// In the order of the file.
    private(set) var remotes: [RemoteText]
    /// In the order of the file.
    private(set) var copySets: [NestedText]

    /// The last line of the file, a comment. If an editor or a full disk cuts off the file where it is still valid, this line is
    /// missing.
    static let endLine = "# End of settings"

    /// Whether the end line is present. Settings may follow it.
    var hasEnd: Bool { SettingsLines(text).firstIndex(beginningWith: Self.endLine) != nil }

    /// - Throws: `invalidContent` naming the line.
    init(_ text: String, path: String) throws(BackupError) {
        self.text = text
        self.path = path
        (entries, remotes, copySets) = try Self.contents(text, path)
    }

    static func read(_ path: String) throws(BackupError) -> SettingsText {
        try SettingsText(String(decoding: try FileSystem.readFile(path, limitBytes: 1 << 20), as: UTF8.self), path: path)
    }

    /// The names and values in a YAML mapping, with their lines; `nil` for any other YAML.
    private static func pairs(_ text: String) throws -> [(name: String?, value: Node, line: Int)]? {
        try Yams.compose(yaml: text, .basic)?.mapping.map { mapping in
            mapping.map { ($0.key.string, $0.value, $0.key.mark?.line ?? 1) }
        }
    }

    private static func contents(
        _ text: String, _ path: String
    ) throws(BackupError) -> (entries: [Setting: Entry], remotes: [RemoteText], copySets: [NestedText]) {
        let found: [(name: String?, value: Node, line: Int)]?
        do {
            found = try pairs(text)
        } catch {
            throw BackupError(
                .invalidContent,
                "the settings are not valid YAML: \(MessageText.shortened("\(error)", limit: MessageText.nameLimit))", path: path)
        }
        guard let found else {
            throw BackupError(.invalidContent, "the settings are empty", path: path, remedy: "Create the store again with init.")
        }
        var entries: [Setting: Entry] = [:]
        var remotes: [RemoteText]?
        var copySets: [NestedText]?
        for (word, value, line) in found {
            if word == RemoteText.key {
                guard remotes == nil else {
                    throw BackupError(.invalidContent, "line \(line): remotes are there twice", path: path)
                }
                remotes = try RemoteText.all(in: value, line: line, path: path)
                continue
            }
            if word == CopySetSettings.key {
                guard copySets == nil else {
                    throw BackupError(.invalidContent, "line \(line): copy-sets are there twice", path: path)
                }
                copySets = try NestedText.all(in: value, CopySetSettings.form, line: line, path: path)
                continue
            }
            guard let word, let text = value.scalar?.string else {
                throw BackupError(.invalidContent, "every setting is a name and a text", path: path)
            }
            guard let setting = Setting.named(word) else { throw unknown(word, path: path) }
            entries[setting] = Entry(value: text, line: line)
        }
        return (entries, remotes ?? [], copySets ?? [])
    }

    /// Reads one setting from a text, even if the others are not understood.
    /// - Returns: `nil` when it is missing, or when the text has another format version, where it may have another meaning.
    static func value(of setting: Setting, in text: String) -> String? {
        guard let found = try? pairs(text) else { return nil }
        func value(_ setting: Setting) -> String? { found.first { $0.name == setting.name }?.value.scalar?.string }
        return value(.formatVersion) == StoreSettings.currentFormatVersion ? value(setting) : nil
    }

    func line(of setting: Setting) -> Int { entries[setting]?.line ?? 0 }

    static func unknown(_ word: String, path: String?) -> BackupError {
        let names = Setting.all.map(\.name) + [RemoteText.key, CopySetSettings.key]
        let meant = SpellingSuggestion.nearest(to: word, among: names)
        return BackupError(
            .invalidContent, "the setting \(MessageText.shortened(word)) is not known", path: path,
            remedy: meant.map { "Did you mean \($0)?" } ?? "Remove it. There are: \(names.joined(separator: ", ")).")
    }

    /// Writes a setting into its line, or in place of its example, or at the end; keeps the surrounding text.
    /// - Parameter value: `nil` comments it out.
    /// - Throws: `invalidContent` when the text has a form that can only be edited by hand.
    mutating func set(_ setting: Setting, _ value: String?) throws(BackupError) {
        guard value != nil || entries[setting] != nil else { return }
        var lines = SettingsLines(text)
        let shown = "# \(setting.name):"
        if let entry = entries[setting] {
            guard let old = lines[entry.line - 1] else { throw Self.isForEditors(setting.name, path) }
            lines[entry.line - 1] = value.map { "\(setting.name): \(Self.quoted($0))" } ?? "# \(old)"
        } else if let value {
            let line = "\(setting.name): \(Self.quoted(value))"
            if let index = lines.firstIndex(beginningWith: shown) {
                lines[index] = line
            } else {
                lines.append(setting.comment.map { "# \($0)" } + [line], before: Self.endLine)
            }
        }
        var expected = entries.mapValues(\.value)
        expected[setting] = value
        try replace(with: lines, entries: expected, remotes: remotes.map { ($0.name, $0.content) }, changing: setting.name)
    }

    /// Takes a changed text, if it has exactly the expected settings.
    /// - Parameter name: of what is changed.
    /// - Throws: `invalidContent` when it does not: the old one has a form that can only be edited by hand.
    mutating func replace(
        with lines: SettingsLines, entries expected: [Setting: String],
        remotes expectedRemotes: [(name: String, content: [String: String])],
        changing name: String
    ) throws(BackupError) {
        guard let changed = try? SettingsText(lines.text, path: path), changed.entries.mapValues(\.value) == expected,
            changed.remotes.map(\.name) == expectedRemotes.map(\.name),
            changed.remotes.map(\.content) == expectedRemotes.map(\.content), changed.hasEnd == hasEnd,
            changed.copySets.map(\.name) == copySets.map(\.name), changed.copySets.map(\.content) == copySets.map(\.content)
        else { throw Self.isForEditors(name, path) }
        self = changed
    }

    /// The text with a setting commented out that this program does not know, and that keeps it from reading the others.
    /// - Throws: `invalidContent` when the text does not have it, or has a form that can only be edited by hand.
    static func commentingOut(_ word: String, in text: String, path: String) throws(BackupError) -> String {
        let all = (try? pairs(text)) ?? []
        guard let entry = all.first(where: { $0.name == word }) else { throw unknown(word, path: path) }
        var lines = SettingsLines(text)
        lines[entry.line - 1] = lines[entry.line - 1].map { "# \($0)" }
        let expected = all.filter { $0.name != word }
        guard let found = try? pairs(lines.text), found.map(\.name) == expected.map(\.name),
            found.map(\.value) == expected.map(\.value)
        else { throw isForEditors(word, path) }
        return lines.text
    }

    static func isForEditors(_ name: String, _ path: String) -> BackupError {
        BackupError(
            .invalidContent, "\(name) is written in a way that cannot be changed by a program", path: path,
            remedy: "Change it with an editor, and look with: backupfs config check")
    }

    /// A new file with all settings, those without a value as comments.
    static func text(_ values: [Setting: String]) -> String {
        Setting.all.map { setting in
            let comment = setting.comment.map { "# \($0)\n" }.joined()
            let mark = values[setting] == nil ? "# " : ""
            return comment + "\(mark)\(setting.name): \(quoted(values[setting] ?? setting.fallback.example))\n"
        }.joined() + remotesExample + CopySetSettings.example
            + "\(endLine). Without this line the file may be cut off, and no rule removes a backup.\n"
    }

    static func quoted(_ text: String) -> String {
        var output = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\", "\"": output += "\\\(scalar)"
            // YAML folds line feeds and accepts no other control characters literally.
            case "\0"..<" ", "\u{7F}"..."\u{9F}": output += "\\x" + Hexadecimal.encode([UInt8(scalar.value)])
            // Line breaks for YAML.
            case "\u{2028}", "\u{2029}": output += "\\u" + String(scalar.value, radix: 16, uppercase: true)
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output + "\""
    }
}

/// The reader of `store.yaml`, for the fuzzer.
package enum SettingsProbe {
    /// Reads settings, changes one, and reads the resulting text.
    /// - Returns: descriptions of the settings before and after; the change keeps the value.
    package static func reread(_ bytes: [UInt8]) throws(BackupError) -> (first: String, second: String) {
        var text = try SettingsText(String(decoding: bytes, as: UTF8.self), path: "store.yaml")
        let first = try StoreSettings(text)
        if let app = text.entries[.app]?.value { try text.set(.app, app) }
        let second = try StoreSettings(try SettingsText(text.text, path: "store.yaml"))
        return ("\(first)", "\(second)")
    }
}
