import BackupCore

/// A small file of lines `key: value`: the notes of locks, the states of schedules, the configuration of a repository.
public struct KeyValueRecord: Sendable {
    /// What is unusual in a file. Each reader decides which flaws it accepts: a lost state starts over, a lost identity does not.
    public enum Flaw: Sendable {
        case notText, cutOff, foreign, emptyLine, noPair, noSpace, repeated
    }

    private var lines: [String] = []
    private var values: [String: String] = [:]
    /// In the order in which they were found.
    public private(set) var flaws: [Flaw] = []

    /// - Parameter magic: the first line, which names the kind of file.
    public init(magic: String? = nil) { lines = magic.map { [$0] } ?? [] }

    /// - Parameters:
    ///   - magic: the expected first line.
    ///   - dropsSpaces: whether all spaces before a value are dropped, and not only the first.
    public init(decoding bytes: [UInt8], magic: String? = nil, dropsSpaces: Bool = false) {
        let text = String(decoding: bytes, as: UTF8.self)
        if String(validating: bytes, as: UTF8.self) == nil { flaws.append(.notText) }
        if !text.hasSuffix("\n") { flaws.append(.cutOff) }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        if lines.last?.isEmpty == true { lines.removeLast() }
        if let magic {
            while lines.first?.isEmpty == true {
                flaws.append(.emptyLine)
                lines.removeFirst()
            }
            if lines.popFirst() != magic[...] { flaws.append(.foreign) }
        }
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else {
                flaws.append(line.isEmpty ? .emptyLine : .noPair)
                continue
            }
            var value = line[line.index(after: colon)...]
            if value.first != " " { flaws.append(.noSpace) }
            value = dropsSpaces ? value.drop { $0 == " " } : value.dropFirst(value.first == " " ? 1 : 0)
            if values.updateValue(String(value), forKey: String(line[..<colon])) != nil { flaws.append(.repeated) }
        }
    }

    /// The lines as UTF-8, each with its line feed.
    public var encoded: [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

    /// Appends a line, unless there is no value.
    public mutating func append(_ key: String, _ value: (some CustomStringConvertible)?) {
        if let value { lines.append("\(key): \(value)") }
    }

    /// Appends a time in ISO 8601, unless there is none.
    public mutating func append(_ key: String, _ time: Timestamp?) { append(key, time.map { ISO8601.format($0) }) }

    /// As `yes` or `no`.
    public mutating func append(_ key: String, _ flag: Bool) { append(key, flag ? "yes" : "no") }

    /// The value of a key; `nil` if there is no such line.
    public subscript(_ key: String) -> String? { values[key] }

    /// The time of a key; `nil` also for another text.
    public func time(_ key: String) -> Timestamp? { values[key].flatMap { ISO8601.parse($0) } }

    /// The number of a key; `nil` also for another text.
    public func number<Number: FixedWidthInteger>(_ key: String) -> Number? { values[key].flatMap { Number($0) } }

    /// - Returns: `nil` for anything but `yes` and `no`.
    public func flag(_ key: String) -> Bool? { values[key].flatMap { ["yes": true, "no": false][$0] } }

    /// Returns a value and forgets it, for readers that refuse unknown keys.
    public mutating func take(_ key: String) -> String? { values.removeValue(forKey: key) }

    /// The first remaining key, in the order of the alphabet.
    public var firstKey: String? { values.keys.min() }
}
