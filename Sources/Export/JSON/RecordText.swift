import BackupCore

/// Converts the tokens of a record from `RecordCursor` back into JSON text, member by member.
enum RecordText {
    private enum Token {
        static let beginObject: UInt8 = 1
        static let endObject: UInt8 = 2
        static let beginArray: UInt8 = 3
        static let endArray: UInt8 = 4
        static let key: UInt8 = 8
    }

    /// The outermost object's members.
    /// - Parameter content: of a complete object, without its opening brace, as in the cursor.
    static func fields(_ content: [UInt8]) -> [RecordField] {
        var fields: [RecordField] = []
        var rest = content[...]
        while rest.popFirst() == Token.key {
            let name = takeText(&rest)
            var value: [UInt8] = []
            appendValue(&rest, to: &value)
            fields.append(RecordField(name: String(decoding: name, as: UTF8.self), value: value))
        }
        return fields
    }

    /// The text of a JSON string that `OrderedJSON` wrote.
    static func unescaped(_ json: [UInt8]) -> String {
        var text: [UInt8] = []
        var rest = json.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                text.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "n"): text.append(10)
            case UInt8(ascii: "r"): text.append(13)
            case UInt8(ascii: "t"): text.append(9)
            case UInt8(ascii: "u"):
                text += Hexadecimal.decode(rest.prefix(4)).map { [$0[1]] } ?? []
                rest = rest.dropFirst(4)
            default: text.append(escape)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func takeText(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let count = rest.prefix(4).withUnsafeBytes { $0.count == 4 ? Int($0.loadUnaligned(as: UInt32.self)) : 0 }
        let text = rest.dropFirst(4).prefix(count)
        rest = rest.dropFirst(4 + count)
        return text
    }

    private static func appendValue(_ rest: inout ArraySlice<UInt8>, to output: inout [UInt8]) {
        switch rest.popFirst() {
        case Token.beginObject: appendMembers(&rest, to: &output)
        case Token.beginArray: appendElements(&rest, to: &output)
        case 5: output += "true".utf8
        case 6: output += "false".utf8
        case 9: output += OrderedJSON.text(String(decoding: takeText(&rest), as: UTF8.self)).compactText
        case 10: output += takeText(&rest)
        default: output += "null".utf8
        }
    }

    private static func appendMembers(_ rest: inout ArraySlice<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "{"))
        var isFirst = true
        while rest.popFirst() == Token.key {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output += OrderedJSON.text(String(decoding: takeText(&rest), as: UTF8.self)).compactText
            output.append(UInt8(ascii: ":"))
            appendValue(&rest, to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }

    private static func appendElements(_ rest: inout ArraySlice<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "["))
        var isFirst = true
        while let next = rest.first, next != Token.endArray {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            appendValue(&rest, to: &output)
        }
        rest = rest.dropFirst()
        output.append(UInt8(ascii: "]"))
    }
}
