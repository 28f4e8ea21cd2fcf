/// A text for people. It keeps its English template and its values, so that it can be translated where it is shown
/// (`MessageCatalog`); until then it is English.
///
/// Written like a string literal: `"could not \(action): \(reason)"` has the template `could not {0}: {1}`, which is its key in
/// the catalogs, as in gettext. Each literal of this type is collected from the sources, and a test fails if one of them has no
/// translation.
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
    /// The values of the placeholders: `{0}` stands for the first.
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

extension Message {
    /// Collects the parts of a string literal: the text becomes the template, the values its arguments.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        var template = ""
        var arguments: [Argument] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            template.reserveCapacity(literalCapacity + interpolationCount * 3)
            arguments.reserveCapacity(interpolationCount)
        }

        public mutating func appendLiteral(_ literal: String) { template += MessageTemplate.escaped(literal) }

        /// Adds a message, which is translated with the outer one.
        public mutating func appendInterpolation(_ message: Message) { append(.message(message)) }

        /// Adds the summary of the error, which is translated.
        public mutating func appendInterpolation(_ error: BackupError) { append(.message(error.summary)) }

        /// An error of another program or library, in English.
        @_disfavoredOverload
        public mutating func appendInterpolation(_ error: any Error) { append(.text("\(error)")) }

        /// Adds a text that is the same in all languages.
        public mutating func appendInterpolation(_ text: String) { append(.text(text)) }

        /// Shown as its `description`, in all languages.
        public mutating func appendInterpolation<Value: CustomStringConvertible>(_ value: Value) {
            append(.text(value.description))
        }

        private mutating func append(_ argument: Argument) {
            template += "{\(arguments.count)}"
            arguments.append(argument)
        }
    }
}

/// The form of a message's text: `{0}`, `{1}`, … for the values, `{{` and `}}` for braces. It is Python's form, so that
/// translation tools know it (`python-brace-format` in gettext).
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

/// Text from a file or a database in a message: of bounded length, valid UTF-8, and without characters that move a terminal's
/// cursor or change the text direction, since messages go to terminals and logs.
public enum MessageText {
    /// For keys and values.
    public static let valueLimit = 80
    /// For names and paths, which more often differ only at the end.
    public static let nameLimit = 200

    private static let longestScalarBytes = 4

    /// At most `limit` code points (a single character can have any number of them), followed by "…" if the text was longer.
    public static func shortened(_ text: String, limit: Int = valueLimit) -> String {
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < limit else { return String(result) + "…" }
            result.append(isHarmless(scalar) ? scalar : "\u{FFFD}")
            count += 1
        }
        return String(result)
    }

    /// Bytes that are not UTF-8 become U+FFFD.
    public static func shortened(_ bytes: some Collection<UInt8>, limit: Int = valueLimit) -> String {
        // One more than is shown: this detects longer texts, and does not split a character that is shown.
        shortened(String(decoding: bytes.prefix((limit + 1) * longestScalarBytes), as: UTF8.self), limit: limit)
    }

    /// The first texts of a list, each shortened, followed by "…" if there are more.
    public static func list(_ texts: [String], limit: Int) -> String {
        (texts.prefix(limit).map { shortened($0) } + (texts.count > limit ? ["…"] : [])).joined(separator: ", ")
    }

    /// A name or a path.
    public static func name(_ bytes: some Collection<UInt8>) -> String { shortened(bytes, limit: nameLimit) }

    /// Whether it neither moves a terminal's cursor nor changes the text direction.
    public static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Control characters, line separators, and characters that change the text direction.
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
