import BackupCore

/// A language for messages to people. The texts are written in English; the others are catalogs of translations.
///
/// Only text for people is translated. JSON, attributes, file names and logs are for programs and stay unchanged.
public enum Language: String, Sendable, CaseIterable {
    case english = "en"
    case russian = "ru"
    case kazakh = "kk"
    case turkish = "tr"
    case german = "de"

    /// - Parameter locale: as in `LANG`: `ru`, `ru_RU`, `ru_RU.UTF-8`, `de_AT@euro`; also `ru-RU`.
    /// - Returns: `nil` for a language without translations.
    public init?(locale: String) {
        let name = locale.prefix { $0 != "_" && $0 != "-" && $0 != "." && $0 != "@" }
        self.init(rawValue: name.lowercased())
    }

    /// The language of the environment, by the rules of POSIX and gettext: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set. Unless that is `C`
    /// or `POSIX`, the first language in the list `LANGUAGE` that has translations takes precedence.
    public static func ofEnvironment() -> Language {
        ofEnvironment { Environment.text($0) }
    }

    static func ofEnvironment(_ variable: (String) -> String?) -> Language {
        guard let locale = variable("LC_ALL") ?? variable("LC_MESSAGES") ?? variable("LANG") else { return .english }
        let name = locale.prefix { $0 != "." && $0 != "@" }
        guard name != "C", name != "POSIX" else { return .english }
        let wanted = variable("LANGUAGE")?.split(separator: ":").lazy.compactMap { Language(locale: String($0)) }.first
        return wanted ?? Language(locale: locale) ?? .english
    }

    /// The index of a number's plural form, by the rules of Unicode CLDR for whole numbers, in the order of the catalog's forms.
    /// <https://www.unicode.org/cldr/charts/latest/supplemental/language_plural_rules.html>
    func pluralForm(of count: UInt64) -> Int {
        switch self {
        case .english, .german, .kazakh, .turkish: return count == 1 ? 0 : 1
        case .russian:
            let tens = count % 100
            if (11...14).contains(tens) { return 2 }
            switch count % 10 {
            case 1: return 0
            case 2...4: return 1
            default: return 2
            }
        }
    }
}
