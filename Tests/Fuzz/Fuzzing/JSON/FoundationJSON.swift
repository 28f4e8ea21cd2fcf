import BackupCore
import Formats
import Foundation

/// Foundation's reader, which takes more than we do: whatever we accept it must accept, and find the same texts in it.
enum FoundationJSON {
    static func requireSame(_ bytes: [UInt8]) throws {
        var reader = Reader(JSONTokenizer(WatchedSource(bytes)))
        let own = try reader.value(reader.tokenizer.next())
        // Numbers beyond a double's range are digits to us, and nothing to Foundation.
        guard !reader.hasExtremeNumber else { return }
        let other: Any
        do {
            other = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        } catch {
            throw FuzzViolation("Foundation does not take it: \(error)")
        }
        try FuzzViolation.require(isSame(own, other), "Foundation reads something else")
    }

    private indirect enum Value {
        case object([(key: String, value: Value)])
        case array([Value])
        case text(String)
        case number(Double)
        case other
    }

    private struct Reader {
        let tokenizer: JSONTokenizer
        var hasExtremeNumber = false

        init(_ tokenizer: JSONTokenizer) { self.tokenizer = tokenizer }

        mutating func value(_ token: JSONTokenizer.Token) throws -> Value {
            switch token {
            case .beginObject:
                var members: [(key: String, value: Value)] = []
                while try tokenizer.next() == .key {
                    let key = tokenizer.text()
                    members.append((key, try value(tokenizer.next())))
                }
                return .object(members)
            case .beginArray:
                var elements: [Value] = []
                while true {
                    let token = try tokenizer.next()
                    if token == .endArray { return .array(elements) }
                    elements.append(try value(token))
                }
            case .string: return .text(tokenizer.text())
            case .number:
                let number = Double(tokenizer.text()) ?? .infinity
                if !number.isFinite || number.magnitude > 1e100 || number != 0 && number.magnitude < 1e-100 {
                    hasExtremeNumber = true
                }
                return .number(number)
            default: return .other
            }
        }
    }

    /// Foundation takes byte order marks away, also inside a document, where they belong to a text: at its beginning, and behind
    /// escapes.
    private static func isSame(_ own: String, _ other: String) -> Bool {
        own.unicodeScalars.filter { $0 != "\u{FEFF}" }.elementsEqual(other.unicodeScalars.filter { $0 != "\u{FEFF}" })
    }

    private static func isSame(_ own: Value, _ other: Any) -> Bool {
        switch own {
        case .object(let members):
            guard let dictionary = other as? [String: Any] else { return false }
            // Names that differ in normalisation only are one to Foundation.
            let hasMark = members.contains { $0.key.unicodeScalars.contains("\u{FEFF}") }
            guard Set(members.map(\.key)).count == members.count, !hasMark else { return true }
            return dictionary.count == members.count
                && members.allSatisfy { key, value in dictionary[key].map { isSame(value, $0) } ?? false }
        case .array(let elements):
            guard let array = other as? [Any], array.count == elements.count else { return false }
            return zip(elements, array).allSatisfy { isSame($0, $1) }
        case .text(let text): return (other as? String).map { isSame(text, $0) } ?? false
        case .number(let number):
            guard let found = (other as? NSNumber)?.doubleValue else { return false }
            return abs(found - number) <= 1e-9 * max(1e-300, number.magnitude)
        case .other: return true
        }
    }
}
