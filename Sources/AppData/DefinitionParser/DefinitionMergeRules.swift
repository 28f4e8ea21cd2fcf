/// The part of the definition's reader for strategies, and for their treatment of existing records.
enum DefinitionMergeRules {
    static let collectionMembers = ["identity", "onMerge", "keepOnReplace", "mergedNote"]

    /// - Returns: the app's strategies, the default first; `nil` when there was a problem.
    static func strategies(_ root: DefinitionNode) -> [ImportStrategy]? {
        let isWhole = root.optional("wholeDatabase")?.node.scalar?.string == "true"
        let written = root.optional("strategies")
        let listed = written.map { list(of: $0, isWhole: isWhole) } ?? (isWhole ? [.replace] : ImportStrategy.allCases)
        guard let listed else {
            // Checked anyway.
            _ = root.optional("strategy")?.choice(ImportStrategy.self)
            return nil
        }
        guard let node = root.optional("strategy") else {
            return listed.contains(.replace) ? [.replace] + listed.filter { $0 != .replace } : listed
        }
        guard let chosen = node.choice(ImportStrategy.self) else { return nil }
        guard listed.contains(chosen) else {
            let names = listed.map(\.rawValue).joined(separator: ", ")
            node.note(
                "names \(chosen.rawValue), which is not among the strategies",
                remedy: isWhole ? "Write replace: whole databases allow no other strategy." : "Choose one of: \(names).")
            return nil
        }
        return [chosen] + listed.filter { $0 != chosen }
    }

    private static func list(of node: DefinitionNode, isWhole: Bool) -> [ImportStrategy]? {
        guard let elements = node.elements() else { return nil }
        var strategies: [ImportStrategy] = []
        var isFine = true
        for element in elements {
            guard let strategy = element.choice(ImportStrategy.self) else {
                isFine = false
                continue
            }
            if strategies.contains(strategy) { element.note("repeats \(strategy.rawValue)", remedy: "Leave it out.") }
            if isWhole, strategy != .replace {
                element.note(
                    "cannot be together with wholeDatabase",
                    remedy: "Leave it out: it is not known what identifies a record of a database without an app definition.")
            }
            strategies.append(strategy)
        }
        if elements.isEmpty { node.note("is empty", remedy: "Name the strategies that the app has, or leave it out for all.") }
        return isFine && !elements.isEmpty ? strategies : nil
    }

    /// - Returns: `nil` when there was a problem.
    static func rules(_ node: DefinitionNode, _ fields: [ParsedField], keyIndex: Int?) -> MergeRules? {
        let identityNode = node.optional("identity")
        let identity = identityNode.map { Self.identity($0, fields) } ?? keyIndex.map { [$0] }
        let onMergeNode = node.optional("onMerge")
        let onMerge = onMergeNode == nil ? .update : onMergeNode?.choice(ExistingRecordRule.self)
        let keepNode = node.optional("keepOnReplace")
        let keepIndex = keepNode.flatMap { Self.keepOnReplaceIndex($0, fields) }
        let noteNode = node.optional("mergedNote")
        let note = noteNode.flatMap { template($0, fields) }
        if let noteNode, onMerge == .keep {
            noteNode.warn("does nothing with onMerge: keep", remedy: "Leave one of them out.")
        }
        guard let identity, let onMerge, (keepNode == nil) == (keepIndex == nil), (noteNode == nil) == (note == nil) else {
            return nil
        }
        return MergeRules(identity: identity, onMerge: onMerge, keepOnReplaceIndex: keepIndex, note: note)
    }

    private static func identity(_ node: DefinitionNode, _ fields: [ParsedField]) -> [Int]? {
        guard let elements = node.elements() else { return nil }
        var indices: [Int] = []
        var isFine = !elements.isEmpty
        for element in elements {
            guard let index = DefinitionObjects.fieldIndex(element, fields) else {
                isFine = false
                continue
            }
            if fields[index].definition?.reference?.mayDangle == true {
                element.note("names a reference that may dangle", remedy: "Name fields that identify the record.")
            }
            if indices.contains(index) { element.note("repeats a field", remedy: "Name each field once.") }
            indices.append(index)
        }
        if elements.isEmpty { node.note("is empty", remedy: "Name the fields, or leave it out for the key.") }
        return isFine ? indices : nil
    }

    private static func keepOnReplaceIndex(_ node: DefinitionNode, _ fields: [ParsedField]) -> Int? {
        guard let index = DefinitionObjects.booleanIndex(node, fields) else { return nil }
        if fields.contains(where: { $0.definition?.isMedia == true }) {
            node.note(
                "cannot be together with a field that has media: true",
                remedy: "Leave one of them out: an archive's media take the place of the whole folder.")
        }
        return index
    }

    private static func template(_ node: DefinitionNode, _ fields: [ParsedField]) -> NoteTemplate? {
        guard let text = node.text() else { return nil }
        let names = fields.map { $0.name ?? "" }
        do throws(NoteTemplate.Problem) {
            return try NoteTemplate(text, fieldNames: names)
        } catch {
            switch error {
            case .brace:
                node.note("has a brace without its other one", remedy: "Write names of fields in braces: \"Updated {name}\".")
            case .unknownField(let name):
                node.note(
                    "names \(name), which is not a field",
                    remedy: DefinitionNode.suggestion(for: name, among: names.filter { !$0.isEmpty }))
            }
            return nil
        }
    }

    /// The identity of a record may include references, so the targets must be identified first: identities must not form a
    /// cycle.
    static func checkOrder(_ readings: [ParsedCollection]) {
        let targets = readings.map { reading in
            reading.definition.map { collection in
                Set(collection.rules.referredCollections(collection.fields, keyIndex: collection.keyIndex))
            } ?? []
        }
        for (index, reading) in readings.enumerated() {
            var reached: Set<Int> = []
            var ahead = Array(targets[index])
            while let next = ahead.popLast() {
                if reached.insert(next).inserted { ahead += targets[next] }
            }
            guard reached.contains(index) else { continue }
            (reading.node.optional("identity") ?? reading.node).note(
                "leads back to its own collection",
                remedy: "Leave out the field that refers there: the records that it refers to must be matched first.")
        }
    }

    /// The treatment of existing settings. Metadata's stored values always stay.
    /// - Parameter name: `onMerge` or `onReplace`.
    static func settingsRule(_ name: String, _ node: DefinitionNode, isMetadata: Bool) -> ExistingRecordRule? {
        guard let member = node.optional(name) else { return nil }
        if isMetadata {
            member.note("is for settings and collections only", remedy: "Leave it out: merge leaves the metadata as it is.")
        }
        return member.choice(ExistingRecordRule.self)
    }
}
