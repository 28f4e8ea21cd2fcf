import BackupCore
import Yams

/// A place in a definition's YAML: every look-up that fails says at which line, and what was expected there.
struct DefinitionNode {
    let node: Node
    /// The dotted name of the place, for messages.
    let place: String

    var line: Int { node.mark?.line ?? 1 }

    func failure(_ message: String) -> BackupError { Self.failure(line: line, "\(place) \(message)") }

    static func failure(line: Int, _ message: String) -> BackupError {
        BackupError(.invalidContent, "line \(line): \(message)", remedy: "Correct the definition and try again.")
    }

    /// - Throws: unless it is a mapping with all its keys among `allowed`, none of them twice.
    func requireMapping(keys allowed: Set<String>) throws(BackupError) {
        guard case .mapping(let mapping) = node else {
            throw failure("must have members (\(allowed.sorted().joined(separator: ", ")))")
        }
        var seen: Set<String> = []
        for (key, _) in mapping {
            let name = key.scalar?.string ?? "?"
            let line = key.mark?.line ?? line
            guard allowed.contains(name) else { throw Self.failure(line: line, "\(place) has no member called \(name)") }
            guard seen.insert(name).inserted else { throw Self.failure(line: line, "\(place) has \(name) twice") }
        }
    }

    func optional(_ name: String) -> DefinitionNode? {
        guard case .mapping(let mapping) = node else { return nil }
        for (key, value) in mapping where key.scalar?.string == name {
            return DefinitionNode(node: value, place: place.isEmpty ? name : "\(place).\(name)")
        }
        return nil
    }

    func required(_ name: String) throws(BackupError) -> DefinitionNode {
        guard let found = optional(name) else { throw failure("has no \(name)") }
        return found
    }

    func elements() throws(BackupError) -> [DefinitionNode] {
        guard case .sequence(let sequence) = node else { throw failure("must be a list") }
        return sequence.enumerated().map { DefinitionNode(node: $1, place: "\(place)[\($0)]") }
    }

    /// Any scalar but one that YAML would take for null.
    func text() throws(BackupError) -> String {
        guard case .scalar(let scalar) = node else { throw failure("must be a text") }
        guard scalar.style != .plain || !["", "~", "null"].contains(scalar.string) else { throw failure("is empty") }
        return scalar.string
    }

    /// A text in quotes: YAML reads 2.50 as a number and drops the zero, so versions and amounts must be quoted.
    func quoted() throws(BackupError) -> String {
        guard case .scalar(let scalar) = node, scalar.style == .doubleQuoted || scalar.style == .singleQuoted else {
            throw failure("must be in quotes (\"1\")")
        }
        return scalar.string
    }

    /// Any scalar, the empty one too.
    func quotedOrPlain() throws(BackupError) -> String {
        guard case .scalar(let scalar) = node else { throw failure("must be a text") }
        return scalar.string
    }

    func quotedInteger(in range: ClosedRange<Int>) throws(BackupError) -> Int {
        let text = try quoted()
        guard let value = Int(text), String(value) == text, range.contains(value) else {
            throw failure("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// "3" or "2-9".
    func quotedRange(in range: ClosedRange<Int>) throws(BackupError) -> ClosedRange<Int> {
        let numbers = try quoted().split(separator: "-", omittingEmptySubsequences: false).map { part in
            Int(part).flatMap { String($0) == part && range.contains($0) ? $0 : nil }
        }
        guard (1...2).contains(numbers.count), let first = numbers.first ?? nil, let last = numbers.last ?? nil, first <= last
        else {
            throw failure("must be a whole number (\"3\") or two of them (\"2-9\")")
        }
        return first...last
    }

    func boolean() throws(BackupError) -> Bool {
        switch try text() {
        case "true": return true
        case "false": return false
        default: throw failure("must be true or false")
        }
    }

    func choice<Value: RawRepresentable & CaseIterable>(_: Value.Type) throws(BackupError) -> Value
    where Value.RawValue == String {
        guard let value = Value(rawValue: try text()) else {
            throw failure("must be one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }
}
