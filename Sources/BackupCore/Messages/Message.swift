/// A text for people. It keeps its English template and its values, so that it can be translated where it is shown (`MessageCatalog`); until then it
/// is English.
///
/// Written like a string literal: `"could not \(action): \(reason)"` has the template `could not {0}: {1}`, which is its key in the catalogs, as in
/// gettext. Each literal of this type is collected from the sources, and a test fails if one of them has no translation.
public struct Message: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible, Comparable {
    /// A value in a message.
    public enum Argument: Sendable {
        /// The same in all languages: a name, a number, a path.
        case text(String)
        /// Shown in the language of the enclosing message.
        case message(Message)
    }

    /// The two English forms of a text with a number in it, and the number that selects the form.
    struct Plural: Sendable {
        let count: UInt64
        /// For exactly one. Other languages have other forms, which are looked up by this template.
        let one: String
    }

    /// With `{0}`, `{1}`, … for the arguments; a brace of the text itself is doubled.
    public let template: String
    public let arguments: [Argument]
    let plural: Plural?

    init(template: String, arguments: [Argument], plural: Plural? = nil) {
        self.template = template
        self.arguments = arguments
        self.plural = plural
    }

    public init(stringLiteral text: String) { self.init(template: MessageTemplate.escaped(text), arguments: []) }

    public init(stringInterpolation: StringInterpolation) {
        self.init(template: stringInterpolation.template, arguments: stringInterpolation.arguments)
    }

    /// A text that is the same in all languages, or known in only one: the output of another program.
    public static func verbatim(_ text: String) -> Message { Message(template: "{0}", arguments: [.text(text)]) }

    /// A text that depends on a number.
    /// - Parameters:
    ///   - count: selects the form; English has two, Russian three.
    ///   - one: for exactly one, with the same values as `other`, including the number: in Russian it is also the form for 21.
    public static func plural(_ count: some BinaryInteger, one: Message, other: Message) -> Message {
        let chosen = count == 1 ? one.arguments : other.arguments
        return Message(
            template: other.template, arguments: chosen,
            plural: Plural(count: UInt64(clamping: count), one: one.template))
    }

    /// Several messages joined with a separator.
    public static func joined(_ parts: [Message], separator: String = ", ") -> Message {
        let places = parts.indices.map { "{\($0)}" }
        return Message(
            template: places.joined(separator: MessageTemplate.escaped(separator)), arguments: parts.map { .message($0) })
    }

    /// The text in English: for JSON, attributes and logs, which programs read.
    public var english: String { text(nil) }

    public var description: String { english }

    /// The text in the language of a catalog.
    /// - Parameter catalog: `nil` for English.
    public func text(_ catalog: MessageCatalog?) -> String {
        let chosen: String
        if let plural {
            let english = plural.count == 1 ? plural.one : template
            chosen = catalog?.translation(of: plural.one, count: plural.count) ?? english
        } else {
            chosen = catalog?.translation(of: template) ?? template
        }
        return MessageTemplate.filled(chosen) { index in
            guard arguments.indices.contains(index) else { return nil }
            switch arguments[index] {
            case .text(let text): return text
            case .message(let message): return message.text(catalog)
            }
        }
    }

    /// The same, with values limited to `limit` code points and without characters that move a terminal's cursor (`MessageText`).
    public func shortened(limit: Int) -> Message {
        let shorter = arguments.map { argument -> Argument in
            switch argument {
            case .text(let text): .text(MessageText.shortened(text, limit: limit))
            case .message(let message): .message(message.shortened(limit: limit))
            }
        }
        return Message(template: template, arguments: shorter, plural: plural)
    }

    /// In the order of their English texts.
    public static func < (one: Message, other: Message) -> Bool { one.english < other.english }

    /// Whether their English texts are equal.
    public static func == (one: Message, other: Message) -> Bool {
        if one.arguments.isEmpty, other.arguments.isEmpty, one.plural == nil, other.plural == nil {
            return one.template == other.template
        }
        return one.english == other.english
    }
}
