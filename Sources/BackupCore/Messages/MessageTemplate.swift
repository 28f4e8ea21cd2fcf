/// The form of a message's text: `{0}`, `{1}`, … for the values, `{{` and `}}` for braces. It is Python's form, so that translation tools know it
/// (`python-brace-format` in gettext).
public enum MessageTemplate {
    /// Escapes a text so that it is its own template.
    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) else { return text }
        var result = ""
        for character in text.unicodeScalars {
            result.unicodeScalars.append(character)
            if character == "{" || character == "}" { result.unicodeScalars.append(character) }
        }
        return result
    }

    /// - Parameter value: of a placeholder; a placeholder without a value stays unchanged.
    static func filled(_ template: String, _ value: (Int) -> String?) -> String {
        var result = ""
        var rest = template[...]
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            result += rest[..<brace]
            rest = rest[brace...]
            if rest.hasPrefix("{{") || rest.hasPrefix("}}") {
                result.append(rest.removeFirst())
                rest.removeFirst()
            } else if let end = rest.firstIndex(of: "}"), let index = Int(rest[rest.index(after: brace)..<end]),
                let text = value(index)
            {
                result += text
                rest = rest[rest.index(after: end)...]
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }
}
