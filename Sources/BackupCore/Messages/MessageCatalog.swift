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
