import AppData
import BackupCore
import SystemIO

/// Converts any SQLite value to JSON and back, exact in type and bytes.
///
/// Integers, doubles (always with `.0` or an exponent), texts and null map to themselves. A value that JSON cannot express is an
/// object of one member: `{"blob": BASE64}`, `{"text": BASE64}` for a text that is not UTF-8, `{"real": "inf"}` and `{"real":
/// "-inf"}`.
enum AnyValueText {
    static func write(
        _ record: RecordBuffer, _ index: Int, _ spelling: WireSpelling, to output: OutputBuffer
    ) throws(BackupError) {
        switch record.kind(index) {
        case .integer: try output.append(record.integer(index))
        case .real:
            let number = record.real(index)
            if number.isFinite {
                try output.append(spelling.text(of: number))
            } else {
                try write("real", number < 0 ? "-inf" : "inf", spelling, to: output)
            }
        case .text:
            let bytes = record.bytes(index)
            if UTF8Sequence.isValid(bytes) {
                _ = try JSONText.write(bytes, to: output, escapesSlashes: spelling.escapesSlashes)
            } else {
                try write("text", Base64.encode(bytes), spelling, to: output)
            }
        case .blob: try write("blob", Base64.encode(record.bytes(index)), spelling, to: output)
        case .boolean: try output.append(record.boolean(index) ? "1" : "0")
        case .null, .missing, .number, .array, .object: try output.append("null")
        }
    }

    private static func write(
        _ kind: String, _ text: String, _ spelling: WireSpelling, to output: OutputBuffer
    ) throws(BackupError) {
        try output.append("{\"\(kind)\"\(spelling.colon)\"\(text)\"}")
    }

    /// Reads an object whose opening brace has been read.
    /// - Returns: false when it is none of the above; skips it then.
    static func read(_ tokenizer: JSONTokenizer, into buffer: RecordBuffer, _ index: Int) throws(BackupError) -> Bool {
        var members: [(kind: String, text: [UInt8]?)] = []
        try tokenizer.forEachMember { (kind, value) throws(BackupError) in
            let isText = value == .string && members.isEmpty
            members.append((kind, isText ? try tokenizer.withText { (bytes) throws(BackupError) in Array(bytes) } : nil))
        }
        guard members.count == 1, let text = members[0].text else { return false }
        switch members[0].kind {
        case "real" where text.elementsEqual("inf".utf8): buffer.set(index, real: .infinity)
        case "real" where text.elementsEqual("-inf".utf8): buffer.set(index, real: -.infinity)
        case "blob":
            guard let bytes = Base64.decode(text) else { return false }
            bytes.withUnsafeBytes { buffer.set(index, .blob, bytes: $0) }
        case "text":
            guard let bytes = Base64.decode(text) else { return false }
            bytes.withUnsafeBytes { buffer.set(index, .text, bytes: $0) }
        default: return false
        }
        return true
    }
}

/// The effect of a `WireStyle` on the pieces of an export.
struct WireSpelling {
    let colon: String
    /// The text from the outermost object's last member to the end of the file.
    let end: String
    let escapesSlashes: Bool
    private let dropsFraction: Bool

    init(_ style: WireStyle) {
        let isFoundation = style == .foundation
        colon = isFoundation ? " : " : ": "
        end = isFoundation ? "\n}" : "\n}\n"
        escapesSlashes = isFoundation
        dropsFraction = isFoundation
    }

    /// - Parameter indentation: spaces before the bracket.
    func endOfEmptyArray(indentation: Int) -> String {
        escapesSlashes ? "\n\n" + String(repeating: " ", count: indentation) + "]" : "]"
    }

    /// Swift writes the shortest digits that read back as the same number.
    func text(of number: Double) -> String {
        let text = number.description
        return dropsFraction && text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
