import BackupCore
import CopyVerify

/// One set of destinations of a store, which programs copy files into: `copy/NAME` in the mount. From `store.yaml`.
public struct CopySetSettings: Sendable, Equatable {
    /// Its name in the mount and in `store.yaml`, as that of a remote.
    public let name: String
    /// Absolute, or relative to the store.
    public var destinations: [String] = []
    /// How files are copied.
    public var options = CopyOptions()

    /// Of the mapping in `store.yaml`.
    static let key = "copy-sets"

    static let form = NestedText.Form(
        key: key, textProblem: "every setting of a copy set is a name and a text; destinations can be a list of them",
        remedy: "See the example in the page about settings.", lists: [destinationsName])

    private static let destinationsName = "destinations"
    private static let names = [destinationsName, "verify", "hidden", "on-conflict"]

    /// In a new file.
    static let example = """
        # Folders that get the files that are copied into copy/NAME of the mount, verified: see backupfs copy.
        # verify, hidden and on-conflict are as for that command.
        # \(key):
        #   cards:
        #     destinations: ["/mnt/a", "/mnt/b"]
        #     verify: "standard"
        #     hidden: "no"
        #     on-conflict: "refuse"

        """

    /// The set of an entry.
    /// - Returns: also all problems, each beginning with its line.
    static func read(_ entry: NestedText, path: String) -> (set: CopySetSettings?, problems: [BackupError]) {
        var problems: [BackupError] = []
        var set = CopySetSettings(name: entry.name)
        func note(_ error: BackupError, _ setting: String?, _ line: Int) {
            let place = ([key, MessageText.shortened(entry.name)] + (setting.map { [$0] } ?? [])).joined(separator: ".")
            problems.append(error.with(.invalidContent, "line \(line): \(place): \(error.message)", path: path))
        }
        if !RemoteSettings.isName(entry.name) {
            note(
                BackupError(
                    .usage, "this cannot be the name of a copy set",
                    remedy: "Use 1 to 64 letters a-z and A-Z, digits, “-”, “_” and “.”, with a letter, a digit or “_” first."),
                nil, entry.line)
        }
        for value in entry.values {
            do throws(BackupError) {
                try set.take(value)
            } catch {
                note(error, MessageText.shortened(value.name), value.line)
            }
        }
        if !entry.values.contains(where: { $0.name == destinationsName }) {
            note(
                BackupError(.usage, "it has no destinations", remedy: "Add one: destinations: [\"/mnt/a\"]"), nil, entry.line)
        }
        return (problems.isEmpty ? set : nil, problems)
    }

    private mutating func take(_ value: NestedText.Value) throws(BackupError) {
        switch value.name {
        case Self.destinationsName:
            let isUsable = value.texts.allSatisfy { text in
                !text.isEmpty && !text.hasPrefix("~") && !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
            }
            guard !value.texts.isEmpty, isUsable else {
                throw BackupError(
                    .usage, "a destination is the path of a folder",
                    remedy: "Write whole paths, which begin with /, or ones relative to the store.")
            }
            destinations = value.texts
        case "verify": options.verification = try Self.word(value.text)
        case "hidden": options.includesHidden = try Setting.yesOrNo(value.text)
        case "on-conflict": options.conflicts = try Self.word(value.text)
        default:
            let meant = SpellingSuggestion.nearest(to: value.name, among: Self.names)
            throw BackupError(
                .usage, "a copy set has no such setting",
                remedy: meant.map { "Did you mean \($0)?" } ?? "Remove it. There are: \(Self.names.joined(separator: ", ")).")
        }
    }

    private static func word<Word: RawRepresentable & CaseIterable>(
        _ text: String
    ) throws(BackupError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: text) else {
            throw Setting.unusable(text, remedy: "Write one of: \(Word.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return word
    }
}
