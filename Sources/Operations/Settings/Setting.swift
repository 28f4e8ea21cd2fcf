import AppData
import BackupCore
import SystemIO

/// One setting in `store.yaml`: its name, the part of `StoreSettings` that it fills, and what the file says about it.
/// `Setting.all` is the table from which settings are read, written and explained.
public struct Setting: Sendable, Hashable {
    /// The source of a value.
    public enum Origin: String, Sendable {
        case file = "store.yaml"
        case environment = "environment"
        case definition = "app"
        case standard = "default"
    }

    /// What is in force while a setting is not set.
    struct Fallback: Sendable {
        /// Shown in `store.yaml` then, behind a `#`.
        let example: String
        var origin = Origin.standard
        /// - Returns: `nil` where nothing is in force.
        let value: @Sendable (StoreSettings, AppDefinition) -> String?

        static func nothing(_ example: String) -> Fallback { Fallback(example: example) { _, _ in nil } }
        static func standard(_ text: String) -> Fallback { Fallback(example: text) { _, _ in text } }
    }

    /// As in `store.yaml`.
    public let name: String
    /// Whether a store requires it.
    let isRequired: Bool
    /// Whether a running mount uses a changed value immediately, instead of the value from when it was mounted.
    public let appliesAtOnce: Bool
    let fallback: Fallback
    /// The environment variable whose value takes precedence.
    let variable: String?
    /// The lines above it in `store.yaml`; empty where the previous setting's comment covers it.
    let comment: [String]
    /// Throws `usage` for an invalid text.
    let take: @Sendable (inout StoreSettings, _ text: String) throws(BackupError) -> Void

    /// - Parameters:
    ///   - key: the part that the parsed value replaces.
    ///   - parse: throws `usage` for an invalid text.
    init<Value>(
        _ name: String, _ key: WritableKeyPath<StoreSettings, Value> & Sendable,
        _ parse: @escaping @Sendable (String) throws(BackupError) -> Value, _ fallback: Fallback, isRequired: Bool = false,
        appliesAtOnce: Bool = true, variable: String? = nil, _ comment: String = ""
    ) {
        self.name = name
        self.isRequired = isRequired
        self.appliesAtOnce = appliesAtOnce
        self.fallback = fallback
        self.variable = variable
        self.comment = comment.split(separator: "\n").map(String.init)
        take = { (settings, text) throws(BackupError) in settings[keyPath: key] = try parse(text) }
    }

    /// The value from the environment; `nil` for none.
    var override: String? { variable.flatMap { Environment.text($0) } }

    /// - Returns: `nil` for an unknown name.
    public static func named(_ name: String) -> Setting? { all.first { $0.name == name } }

    public static func == (left: Setting, right: Setting) -> Bool { left.name == right.name }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Parsers of values. Each throws `usage` for an invalid text.
extension Setting {
    static func text(_ text: String) throws(BackupError) -> String { text }

    static func moment(_ text: String) throws(BackupError) -> Timestamp? {
        guard let time = ISO8601.parse(text) else { throw unusable(text, remedy: "Write a time as in 2026-12-24T18:00:00Z.") }
        return time
    }

    static func yesOrNo(_ text: String) throws(BackupError) -> Bool { try isTrue(text, remedy: "Write yes or no.") }

    static func onOrOff(_ text: String) throws(BackupError) -> Bool { try isTrue(text, remedy: "Write on or off.") }

    private static func isTrue(_ text: String, remedy: Message) throws(BackupError) -> Bool {
        switch text.lowercased() {
        case "yes", "true", "on": true
        case "no", "false", "off": false
        default: throw unusable(text, remedy: remedy)
        }
    }

    static func number(
        _ range: ClosedRange<Int>, of unit: Message
    ) -> @Sendable (String) throws(BackupError) -> Int {
        { (text) throws(BackupError) in
            if let number = Int(text), range.contains(number) { return number }
            throw unusable(text, remedy: "Give a whole number of \(unit) from \(range.lowerBound) to \(range.upperBound).")
        }
    }

    static func word<Word: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _: Word.Type
    ) -> @Sendable (String) throws(BackupError) -> Word {
        { (text) throws(BackupError) in
            if let word = Word(rawValue: text) { return word }
            let words = Word.allCases.map(\.rawValue)
            let meant = SpellingSuggestion.nearest(to: text, among: words)
            throw unusable(text, remedy: meant.map { "Did you mean \($0)?" } ?? "Write one of \(words.joined(separator: ", ")).")
        }
    }

    static func unusable(_ text: String, remedy: Message) -> BackupError {
        BackupError(.usage, "it cannot be “\(MessageText.shortened(text))”", remedy: remedy)
    }
}
