import BackupCore
import SystemIO

/// A JSON value whose members keep their order, for the small documents that this program writes about itself (`status.json`,
/// `manifest.json`, reports). The app's own data never goes through it: that is streamed.
public indirect enum OrderedJSON: ExpressibleByDictionaryLiteral, Sendable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case text(String)
    case array([OrderedJSON])
    case object([Member])
    /// JSON text that this program wrote earlier, included unchanged.
    case written([UInt8])

    /// A member of an object. Names may repeat: nothing checks that.
    public struct Member: Sendable, Equatable {
        /// Not escaped.
        public let name: String
        /// Any value, also another object.
        public let value: OrderedJSON

        public init(_ name: String, _ value: OrderedJSON) {
            self.name = name
            self.value = value
        }

        public init(_ name: String, _ value: some JSONConvertible) { self.init(name, value.json) }
    }

    /// An object whose members have the order of the literal.
    public init(dictionaryLiteral elements: (String, any JSONConvertible)...) {
        self = .object(elements.map { Member($0.0, $0.1.json) })
    }

    /// An object with the members of both objects.
    public func adding(_ other: OrderedJSON) -> OrderedJSON {
        guard case .object(let members) = self, case .object(let further) = other else { return self }
        return .object(members + further)
    }

    /// - Returns: `nil` for text that this program did not write as an object.
    public static func verbatim(_ text: [UInt8]) -> OrderedJSON? {
        guard text.first == UInt8(ascii: "{"), text.suffix(2).elementsEqual("}\n".utf8) else { return nil }
        return .written(Array(text.dropLast()))
    }

    /// A number as this program writes it.
    public static func decimal(_ number: some CustomStringConvertible) -> OrderedJSON { .written(Array(number.description.utf8)) }

    /// Indented by two spaces, with a trailing newline, like the output of `jq`.
    public var prettyText: [UInt8] {
        var output: [UInt8] = []
        append(to: &output, indentation: 0)
        output.append(UInt8(ascii: "\n"))
        return output
    }

    /// On one line, without a trailing newline.
    public var compactText: [UInt8] {
        var output: [UInt8] = []
        append(to: &output, indentation: nil)
        return output
    }

    private func append(to output: inout [UInt8], indentation: Int?) {
        switch self {
        case .null: output += "null".utf8
        case .boolean(let value): output += (value ? "true" : "false").utf8
        case .integer(let value): output += String(value).utf8
        case .text(let text): Self.append(text, to: &output)
        case .written(let text): Self.append(written: text, to: &output, indentation: indentation)
        case .array(let values):
            Self.appendList(values.count, "[", "]", to: &output, indentation) { index, deeper, output in
                values[index].append(to: &output, indentation: deeper)
            }
        case .object(let members):
            Self.appendList(members.count, "{", "}", to: &output, indentation) { index, deeper, output in
                Self.append(members[index].name, to: &output)
                output += (deeper == nil ? ":" : ": ").utf8
                members[index].value.append(to: &output, indentation: deeper)
            }
        }
    }

    /// Indents its lines to the current level; a newline inside a text is always escaped, so every newline belongs to the layout.
    private static func append(written text: [UInt8], to output: inout [UInt8], indentation: Int?) {
        for byte in text {
            guard byte == 10 else {
                output.append(byte)
                continue
            }
            guard let indentation else { continue }
            output.append(byte)
            output += String(repeating: " ", count: indentation).utf8
        }
    }

    private static func appendList(
        _ count: Int, _ open: String, _ close: String, to output: inout [UInt8], _ indentation: Int?,
        item: (Int, Int?, inout [UInt8]) -> Void
    ) {
        output += open.utf8
        for index in 0..<count {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            if let indentation { output += ("\n" + String(repeating: " ", count: indentation + 2)).utf8 }
            item(index, indentation.map { $0 + 2 }, &output)
        }
        if count > 0, let indentation { output += ("\n" + String(repeating: " ", count: indentation)).utf8 }
        output += close.utf8
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): output += "\\\"".utf8
            case UInt8(ascii: "\\"): output += "\\\\".utf8
            case 10: output += "\\n".utf8
            case 13: output += "\\r".utf8
            case 9: output += "\\t".utf8
            case 0..<32: output += "\\u00\(Hexadecimal.encode([byte]))".utf8
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}

/// A value that has a form in these documents.
public protocol JSONConvertible {
    var json: OrderedJSON { get }
}

extension OrderedJSON: JSONConvertible {
    public var json: OrderedJSON { self }
}

extension String: JSONConvertible {
    public var json: OrderedJSON { .text(self) }
}

extension Bool: JSONConvertible {
    public var json: OrderedJSON { .boolean(self) }
}

extension JSONConvertible where Self: BinaryInteger {
    public var json: OrderedJSON { .integer(Int64(clamping: self)) }
}

extension Int: JSONConvertible {}
extension Int32: JSONConvertible {}
extension Int64: JSONConvertible {}
extension UInt64: JSONConvertible {}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    // Not by a key path: those are made at run time here.
    public var json: OrderedJSON { map { $0.json } ?? .null }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    public var json: OrderedJSON { .array(map { $0.json }) }
}

/// Documents are for programs: their texts are in English.
extension Message: JSONConvertible {
    public var json: OrderedJSON { .text(english) }
}

extension FileName: JSONConvertible {
    public var json: OrderedJSON { .text(description) }
}

extension SnapshotID: JSONConvertible {
    public var json: OrderedJSON { .text(hexadecimal) }
}

extension Timestamp: JSONConvertible {
    public var json: OrderedJSON { .text(ISO8601.format(self)) }
}
