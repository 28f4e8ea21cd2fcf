import BackupCore
import CTranslations
import Glibc

/// The values of environment variables.
public enum Environment {
    /// `BACKUPFS_SCHEDULE`: overrides the settings.
    public static var schedule: String? { text("BACKUPFS_SCHEDULE") }
    /// `BACKUPFS_MKDIR_WAITS`: overrides the settings.
    public static var makeDirectoryWait: String? { text("BACKUPFS_MKDIR_WAITS") }
    /// `BACKUPFS_LOG`, `BACKUPFS_LOG_LEVEL`, `BACKUPFS_LOG_FILE`: override the settings of the log.
    public static var log: String? { text("BACKUPFS_LOG") }
    /// Overrides the level of the log in the settings.
    public static var logLevel: String? { text("BACKUPFS_LOG_LEVEL") }
    /// Overrides the file of the log in the settings.
    public static var logFile: String? { text("BACKUPFS_LOG_FILE") }

    /// `BACKUPFS_STALL_SECONDS`: for tests, how long storage may be idle before callers that wait for it get an error.
    public static var stallSeconds: Double? { text("BACKUPFS_STALL_SECONDS").flatMap { Double($0) }.map { max(0.1, $0) } }

    /// - Returns: `nil` for an unset or empty variable.
    public static func text(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}

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

    /// The language of the environment, by the rules of POSIX and gettext: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that
    /// is set. Unless that is `C` or `POSIX`, the first language in the list `LANGUAGE` that has translations takes precedence.
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

extension Language {
    // Each is read on first use.
    private static let russianCatalog = read(.russian)
    private static let kazakhCatalog = read(.kazakh)
    private static let turkishCatalog = read(.turkish)
    private static let germanCatalog = read(.german)

    /// The translations; `nil` for English, the source language.
    public var catalog: MessageCatalog? {
        switch self {
        case .english: nil
        case .russian: Self.russianCatalog
        case .kazakh: Self.kazakhCatalog
        case .turkish: Self.turkishCatalog
        case .german: Self.germanCatalog
        }
    }

    /// A message in this language.
    public func text(_ message: Message) -> String { message.text(catalog) }

    /// The `.po` file, empty for English.
    public var catalogFile: String {
        switch self {
        case .english: ""
        case .russian: Self.text(backupfs_translation_ru())
        case .kazakh: Self.text(backupfs_translation_kk())
        case .turkish: Self.text(backupfs_translation_tr())
        case .german: Self.text(backupfs_translation_de())
        }
    }

    private static func read(_ language: Language) -> MessageCatalog {
        MessageCatalog(language.catalogFile) { language.pluralForm(of: $0) }
    }

    /// The bytes are part of the program and live as long as it runs.
    private static func text(_ file: backupfs_translation) -> String {
        String(decoding: UnsafeBufferPointer(start: file.bytes, count: Int(file.count)), as: UTF8.self)
    }
}
