/// The texts of a language by their English templates, from a `.po` file of gettext's tools.
/// <https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html>
public struct MessageCatalog: Sendable {
    /// The language's plural rule: maps a number to the index of a form.
    public typealias PluralRule = @Sendable (UInt64) -> Int

    private let forms: [String: [String]]
    private let rule: PluralRule

    /// Skips invalid lines, and entries that are `fuzzy` or not yet translated: their texts stay English.
    public init(_ file: String, plural rule: @escaping PluralRule) {
        var forms: [String: [String]] = [:]
        for entry in MessageCatalogEntry.all(of: file) where entry.isTranslated { forms[entry.template] = entry.forms }
        self.forms = forms
        self.rule = rule
    }

    func translation(of template: String) -> String? { forms[template]?.first }

    func translation(of template: String, count: UInt64) -> String? {
        guard let forms = forms[template] else { return nil }
        let index = rule(count)
        return forms.indices.contains(index) ? forms[index] : forms.last
    }
}

/// One entry of a `.po` file.
public struct MessageCatalogEntry: Sendable, Equatable {
    /// `msgid`: the English template; empty for the file's header.
    public var template = ""
    /// `msgid_plural`: the English plural form.
    public var plural: String?
    /// `msgstr`, or `msgstr[0]` and so on.
    public var forms: [String] = []
    /// The translation needs a review.
    public var isFuzzy = false

    /// Whether the translation is used: it is reviewed, and has all its forms.
    public var isTranslated: Bool { !template.isEmpty && !isFuzzy && !forms.isEmpty && !forms.contains("") }

    /// All entries of a file, in file order.
    public static func all(of file: String) -> [MessageCatalogEntry] {
        var result: [MessageCatalogEntry] = []
        var entry = MessageCatalogEntry()
        var field = Field.none
        for line in file.split(separator: "\n") {
            if line.hasPrefix("#,"), line.contains("fuzzy") {
                // Comments precede their entry.
                if field != .none { result.append(entry) }
                entry = MessageCatalogEntry()
                entry.isFuzzy = true
                field = .none
                continue
            }
            guard !line.hasPrefix("#"), let quote = line.firstIndex(of: "\"") else { continue }
            let keyword = line[..<quote].filter { $0 != " " }
            let text = unescaped(line[quote...])
            switch keyword {
            case "": break
            case "msgid":
                if field != .none {
                    result.append(entry)
                    entry = MessageCatalogEntry()
                }
                field = .template
            case "msgid_plural":
                entry.plural = ""
                field = .plural
            case let name where name.hasPrefix("msgstr"):
                entry.forms.append("")
                field = .form
            default: continue
            }
            switch field {
            case .none: break
            case .template: entry.template += text
            case .plural: entry.plural? += text
            case .form: entry.forms[entry.forms.count - 1] += text
            }
        }
        if field != .none { result.append(entry) }
        return result
    }

    private enum Field { case none, template, plural, form }

    /// The text between the quotation marks, with the escapes `\n`, `\t`, `\"` and `\\` decoded.
    private static func unescaped(_ text: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in text.unicodeScalars.dropFirst() {
            if isEscaped {
                switch character {
                case "n": result.unicodeScalars.append("\n")
                case "t": result.unicodeScalars.append("\t")
                default: result.unicodeScalars.append(character)
                }
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            } else {
                result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
