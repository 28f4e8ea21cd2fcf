import BackupCore
import Yams

/// A place in a definition's YAML. A lookup that fails records the problem in `findings`, with its line and the expected form,
/// and returns `nil`.
struct DefinitionNode {
    let node: Node
    /// The dotted name of the place, for messages; empty for the whole definition.
    let place: String
    let findings: DefinitionFindings
    /// What a mapping has under which name. Yams copies a whole mapping each time that a member is looked up, and so reading the
    /// definition was a seventh of the work of a small command.
    private let members: [String: Node]

    init(node: Node, place: String, findings: DefinitionFindings) {
        self.node = node
        self.place = place
        self.findings = findings
        guard case .mapping(let mapping) = node else {
            members = [:]
            return
        }
        var members: [String: Node] = [:]
        members.reserveCapacity(mapping.count)
        for (key, value) in mapping {
            guard let name = key.scalar?.string, members[name] == nil else { continue }
            members[name] = value
        }
        self.members = members
    }

    var line: Int { node.mark?.line ?? 1 }

    private var told: Message { place.isEmpty ? "the definition" : .verbatim(place) }

    func note(_ message: Message, remedy: Message) {
        findings.add(DefinitionProblem(line: line, message: "\(told) \(message)", remedy: remedy))
    }

    func warn(_ message: Message, remedy: Message) {
        findings.add(warning: DefinitionProblem(line: line, message: "\(told) \(message)", remedy: remedy))
    }

    /// - Parameter allowed: in the order in which messages list them.
    /// - Returns: false unless it is a mapping; keys that are not in `allowed` are recorded as problems.
    func requireMapping(keys allowed: [String]) -> Bool {
        guard case .mapping(let mapping) = node else {
            note("must have members (\(allowed.sorted().joined(separator: ", ")))", remedy: "Write its members, one a line.")
            return false
        }
        let keys = mapping.map(\.key)
        let present = keys.map { $0.scalar?.string ?? "?" }
        for (key, name) in zip(keys, present) {
            guard !allowed.contains(name) else { continue }
            let meant = SpellingSuggestion.nearest(to: name, among: allowed.filter { !present.contains($0) })
            if let meant { findings.noteMisspelling(of: meant, at: place) }
            findings.add(
                DefinitionProblem(
                    line: key.mark?.line ?? line, message: "\(told) has no member called \(name)",
                    remedy: meant.map { "Did you mean \($0)?" } ?? "What can be here: \(allowed.joined(separator: ", "))."))
        }
        return true
    }

    func optional(_ name: String) -> DefinitionNode? {
        members[name].map { DefinitionNode(node: $0, place: place.isEmpty ? name : "\(place).\(name)", findings: findings) }
    }

    func required(_ name: String) -> DefinitionNode? {
        if let found = optional(name) { return found }
        // That it is not a mapping, or has the member under another name, is already reported.
        if case .mapping = node, !findings.isMisspelt(name, at: place) {
            note("has no \(name)", remedy: "Add the member \(name).")
        }
        return nil
    }

    func elements() -> [DefinitionNode]? {
        guard case .sequence(let sequence) = node else {
            note("must be a list", remedy: "Begin each of its elements with \"- \" on a line of its own, or write [a, b].")
            return nil
        }
        return sequence.enumerated().map { DefinitionNode(node: $1, place: "\(place)[\($0)]", findings: findings) }
    }

    /// Any scalar except one that YAML treats as null.
    func text() -> String? {
        guard case .scalar(let scalar) = node else {
            note("must be a text", remedy: "Write a text.")
            return nil
        }
        guard scalar.style != .plain || !["", "~", "null"].contains(scalar.string) else {
            note("is empty", remedy: "Write a text, or leave the member out if it is not needed.")
            return nil
        }
        return scalar.string
    }

    /// A quoted text: YAML reads 2.50 as a number and drops the zero, so versions and amounts must be quoted.
    func quoted() -> String? {
        guard case .scalar(let scalar) = node, scalar.style == .doubleQuoted || scalar.style == .singleQuoted else {
            let value = node.scalar?.string ?? ""
            note("must be in quotes (\"1\")", remedy: value.isEmpty ? "Write it in quotes." : "Write \"\(value)\".")
            return nil
        }
        return scalar.string
    }

    /// Any scalar, including the empty one.
    func quotedOrPlain() -> String? {
        guard case .scalar(let scalar) = node else {
            note("must be a text", remedy: "Write a text, or \"\" for none.")
            return nil
        }
        return scalar.string
    }

    func quotedInteger(in range: ClosedRange<Int>) -> Int? {
        guard let text = quoted() else { return nil }
        guard let value = Int(text), String(value) == text, range.contains(value) else {
            note(
                "must be a whole number from \(range.lowerBound) to \(range.upperBound)",
                remedy: "Write it with digits only, in quotes.")
            return nil
        }
        return value
    }

    /// "3" or "2-9".
    func quotedRange(in range: ClosedRange<Int>) -> ClosedRange<Int>? {
        guard let text = quoted() else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in Int(part).flatMap { String($0) == part && range.contains($0) ? $0 : nil } }
        guard parts.count <= 2, numbers.count == parts.count, let first = numbers.first, let last = numbers.last, first <= last
        else {
            note("must be a whole number or a range of them", remedy: "Write one (\"3\"), or the first and the last (\"2-9\").")
            return nil
        }
        return first...last
    }

    func boolean() -> Bool? {
        guard let text = text() else { return nil }
        if text != "true", text != "false" { note("must be true or false", remedy: "Write true, or false.") }
        return text == "true"
    }

    func choice<Value: RawRepresentable & CaseIterable>(_: Value.Type) -> Value? where Value.RawValue == String {
        word(of: Value.allCases.map(\.rawValue)).flatMap { Value(rawValue: $0) }
    }

    /// One of the given words.
    func word(of words: [String]) -> String? {
        guard let text = text() else { return nil }
        guard words.contains(text) else {
            note("must be one of \(words.joined(separator: ", "))", remedy: Self.suggestion(for: text, among: words))
            return nil
        }
        return text
    }

    static func suggestion(for word: String, among words: [String]) -> Message {
        if let meant = SpellingSuggestion.nearest(to: word, among: words) { return "Did you mean \(meant)?" }
        return words.isEmpty ? "There is none to name yet." : "Choose one of: \(words.joined(separator: ", "))."
    }
}
