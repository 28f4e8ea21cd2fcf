import BackupCore
import SystemIO

extension JSONTokenizer {
    /// Reads the members of the object that has just begun, and its end.
    /// - Parameter body: receives each name and the first token of its value; what it does not read of the value is skipped.
    public func forEachMember(_ body: (String, Token) throws(BackupError) -> Void) throws(BackupError) {
        while try next() == .key {
            let name = text()
            let outer = depth
            try body(name, try next())
            while depth > outer { _ = try next() }
        }
    }
}

/// The members of a small JSON object that this program wrote about itself: a state file, or a line of the history. Nulls count
/// as missing.
public struct JSONMembers: Sendable {
    private var values: [String: OrderedJSON] = [:]
    /// The names of the members that could be read, in the order of the text.
    public private(set) var names: [String] = []
    /// Whether the text is one whole object without objects or arrays in it. Otherwise the members are those that could be read.
    public private(set) var isFlat = false

    /// Reads as much of the text as is well formed.
    public init(_ text: some Collection<UInt8>) {
        let tokenizer = JSONTokenizer(BytesSource(Array(text)), bufferSizeBytes: 4_096)
        var isFlat = true
        do throws(BackupError) {
            guard try tokenizer.next() == .beginObject else { return }
            try tokenizer.forEachMember { (name, value) throws(BackupError) in
                switch value {
                case .string: values[name] = .text(tokenizer.text())
                case .number: values[name] = .written(Array(tokenizer.text().utf8))
                case .true, .false: values[name] = .boolean(value == .true)
                case .beginObject, .beginArray: isFlat = false
                case .null, .endObject, .endArray, .key, .end: break
                }
                names.append(name)
            }
            let last = try tokenizer.next()
            self.isFlat = isFlat && last == .end
        } catch {
            // The text is torn or of another program.
        }
    }

    /// - Returns: `nil` if the value is not a text.
    public func text(_ name: String) -> String? {
        guard case .text(let text)? = values[name] else { return nil }
        return text
    }

    /// - Returns: `nil` if the value is not one of these words.
    public func word<Word: RawRepresentable<String>>(_ name: String) -> Word? { text(name).flatMap(Word.init) }

    /// - Returns: `nil` if the value is not a number of this type.
    public func number<Number: LosslessStringConvertible>(_ name: String) -> Number? {
        guard case .written(let digits)? = values[name] else { return nil }
        return Number(String(decoding: digits, as: UTF8.self))
    }

    /// - Returns: false if the value is not true.
    public func flag(_ name: String) -> Bool { values[name] == .boolean(true) }

    /// - Returns: `nil` if the value is not a time.
    public func time(_ name: String) -> Timestamp? { text(name).flatMap { ISO8601.parse($0) } }
}
