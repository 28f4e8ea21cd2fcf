import BackupCore
import Testing

@testable import SystemIO

struct LanguageTests {
    @Test(
        arguments: [
            ([:], .english), (["LANG": "ru_RU.UTF-8"], .russian), (["LANG": "kk_KZ"], .kazakh),
            (["LANG": "tr_TR.UTF-8"], .turkish),
            (["LANG": "de_AT@euro"], .german), (["LANG": "fr_FR.UTF-8"], .english), (["LANG": "deutsch"], .english),
            (["LANG": "de_DE.UTF-8", "LC_MESSAGES": "tr_TR.UTF-8"], .turkish),
            (["LANG": "de_DE.UTF-8", "LC_MESSAGES": "tr_TR.UTF-8", "LC_ALL": "ru_RU.UTF-8"], .russian),
            (["LANG": "de_DE.UTF-8", "LC_ALL": "C"], .english), (["LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"], .english),
            (["LANG": "POSIX", "LANGUAGE": "de"], .english), (["LANGUAGE": "de"], .english),
            (["LANG": "en_US.UTF-8", "LANGUAGE": "fr:kk:de"], .kazakh), (["LANG": "de_DE.UTF-8", "LANGUAGE": "fr"], .german),
            (["LANG": "en_GB.UTF-8", "LANGUAGE": "en_GB:en:de"], .english),
        ] as [([String: String], Language)])
    func theEnvironmentChooses(variables: [String: String], language: Language) {
        #expect(Language.ofEnvironment { variables[$0] } == language)
    }

    /// The examples of Unicode CLDR.
    @Test func russianHasThreeForms() {
        let one: [UInt64] = [1, 21, 31, 41, 51, 61, 71, 81, 101, 1_001]
        let few: [UInt64] = [2, 3, 4, 22, 23, 24, 32, 102, 1_002]
        let many: [UInt64] = [0, 5, 6, 11, 12, 13, 14, 19, 20, 25, 100, 111, 112, 1_000, 1_011, 1_000_000]
        #expect(one.map(Language.russian.pluralForm) == one.map { _ in 0 })
        #expect(few.map(Language.russian.pluralForm) == few.map { _ in 1 })
        #expect(many.map(Language.russian.pluralForm) == many.map { _ in 2 })
    }

    @Test(arguments: [Language.german, .kazakh, .turkish])
    func othersHaveTwo(language: Language) {
        #expect([0, 1, 2, 11, 21, 101].map(language.pluralForm) == [1, 0, 1, 1, 1, 1])
    }

    @Test(arguments: Language.allCases.filter { $0 != .english })
    func everyCatalogHasTheSameTextsWithTheSameValues(language: Language) throws {
        let german = MessageCatalogEntry.all(of: Language.german.catalogFile).dropFirst()
        let entries = MessageCatalogEntry.all(of: language.catalogFile).dropFirst()
        try #require(entries.count > 1_000)
        #expect(entries.map(\.template) == german.map(\.template))
        for entry in entries {
            #expect(entry.isTranslated, "\(entry.template)")
            #expect(entry.forms.count == (entry.plural == nil ? 1 : language == .russian ? 3 : 2), "\(entry.template)")
            for form in entry.forms { #expect(Self.values(form) == Self.values(entry.template), "\(form)") }
        }
    }

    /// `{0}` and so on, sorted.
    private static func values(_ text: String) -> [String] {
        text.replacing("{{", with: "").replacing("}}", with: "").matches(of: /\{\d+\}/).map { String($0.output) }.sorted()
    }

    @Test(
        arguments: [
            (.english, "2026-03-09 08:07:06"), (.german, "09.03.2026, 08:07:06"), (.russian, "09.03.2026, 08:07:06"),
            (.kazakh, "09.03.2026, 08:07:06"), (.turkish, "09.03.2026 08:07:06"),
        ] as [(Language, String)])
    func timesHaveTheOrderOfTheLanguage(language: Language, text: String) {
        // The same in all zones: it goes there and back.
        let parts = SystemClock.localTime(Timestamp(seconds: 1_773_043_626))
        #expect(parts.arguments.count == 6)
        let time: Message = "\("2026")-\("03")-\("09") \("08"):\("07"):\("06")"
        #expect(time.template == parts.template)
        #expect(language.text(time) == text)
    }
}
