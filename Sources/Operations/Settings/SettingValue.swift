import BackupCore

/// Parses values of settings.
enum SettingValue {
    static func yesOrNo(_ text: String) throws(BackupError) -> Bool {
        switch text.lowercased() {
        case "yes", "true", "on": true
        case "no", "false", "off": false
        default: throw unusable(text, remedy: "Write yes or no.")
        }
    }

    static func onOrOff(_ text: String) throws(BackupError) -> Bool {
        do {
            return try yesOrNo(text)
        } catch {
            throw unusable(text, remedy: "Write on or off.")
        }
    }

    static func number(_ text: String, in range: ClosedRange<Int>, of unit: Message) throws(BackupError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw unusable(text, remedy: "Give a whole number of \(unit) from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    static func word<Value: RawRepresentable & CaseIterable>(
        _ text: String, _: Value.Type
    ) throws(BackupError) -> Value where Value.RawValue == String {
        if let value = Value(rawValue: text) { return value }
        let words = Value.allCases.map(\.rawValue)
        let meant = SpellingSuggestion.nearest(to: text, among: words)
        throw unusable(text, remedy: meant.map { "Did you mean \($0)?" } ?? "Write one of \(words.joined(separator: ", ")).")
    }

    private static func unusable(_ text: String, remedy: Message) -> BackupError {
        BackupError(.usage, "it cannot be “\(MessageText.shortened(text))”", remedy: remedy)
    }
}
