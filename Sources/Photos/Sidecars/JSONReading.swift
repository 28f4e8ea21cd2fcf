import BackupCore
import Formats

/// Reading the small documents of the queue, and lines of the catalog and of the list of photos.
/// What is missing, or of another kind than expected, is `nil`.
extension OrderedJSON {
    /// - Returns: `nil` for a text that is not one whole value.
    init?(parsing text: some Collection<UInt8>) {
        let tokenizer = JSONTokenizer(BytesSource(Array(text)), bufferSizeBytes: 4_096)
        do throws(BackupError) {
            let value = try Self.value(try tokenizer.next(), tokenizer)
            guard let value, try tokenizer.next() == .end else { return nil }
            self = value
        } catch {
            return nil
        }
    }

    private static func value(
        _ token: JSONTokenizer.Token, _ tokenizer: JSONTokenizer
    ) throws(BackupError) -> OrderedJSON? {
        switch token {
        case .null: return .null
        case .true, .false: return .boolean(token == .true)
        case .string: return .text(tokenizer.text())
        case .number:
            let text = tokenizer.text()
            return Int64(text).map { .integer($0) } ?? .written(Array(text.utf8))
        case .beginObject:
            var members: [Member] = []
            while try tokenizer.next() == .key {
                let name = tokenizer.text()
                guard let value = try value(try tokenizer.next(), tokenizer) else { return nil }
                members.append(Member(name, value))
            }
            return .object(members)
        case .beginArray:
            var values: [OrderedJSON] = []
            while true {
                let token = try tokenizer.next()
                if token == .endArray { return .array(values) }
                guard let value = try value(token, tokenizer) else { return nil }
                values.append(value)
            }
        case .endObject, .endArray, .key, .end: return nil
        }
    }

    subscript(_ name: String) -> OrderedJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// A text, or a number as it is written.
    var scalarText: String? {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .written(let digits): String(decoding: digits, as: UTF8.self)
        default: nil
        }
    }

    var textValue: String? { if case .text(let text) = self { text } else { nil } }

    var wholeValue: Int64? { if case .integer(let number) = self { number } else { nil } }

    var decimalValue: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .written(let digits): Double(String(decoding: digits, as: UTF8.self))
        default: nil
        }
    }

    var listValue: [OrderedJSON]? { if case .array(let values) = self { values } else { nil } }
}
