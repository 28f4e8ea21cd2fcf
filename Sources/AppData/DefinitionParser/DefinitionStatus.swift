import BackupCore

/// The part of the definition's reader for the app's own texts: the phases of a backup, and the blocks of the status.
enum DefinitionStatus {
    /// - Returns: in the order of the stages, which is also that of their percentages; empty when there are none.
    static func phases(_ root: DefinitionNode) -> [BackupPhase] {
        guard let list = root.optional("progress"), let elements = list.elements() else { return [] }
        if elements.isEmpty { list.note("is empty", remedy: "Name the stages, or leave it out.") }
        var phases: [BackupPhase] = []
        for node in elements {
            guard node.requireMapping(keys: ["stage", "percent", "message", "each"]) else { continue }
            let stage = node.required("stage").flatMap { $0.choice(BackupStage.self) }
            let percent = node.required("percent")?.quotedInteger(in: 0...100)
            let message = node.required("message")?.text()
            let each = node.optional("each").flatMap(template)
            guard let stage, let percent, let message else { continue }
            if let last = phases.last, order(last.stage) >= order(stage) || last.percent > percent {
                node.note(
                    "must come after the one before, and have no lower percentage",
                    remedy: "The stages are, in this order: \(BackupStage.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            phases.append(BackupPhase(stage: stage, percent: percent, message: Message(stringLiteral: message), each: each))
        }
        return phases
    }

    private static func order(_ stage: BackupStage) -> Int { BackupStage.allCases.firstIndex(of: stage) ?? 0 }

    private static func template(_ node: DefinitionNode) -> String? {
        guard let text = node.text() else { return nil }
        guard let current = text.firstRange(of: "{current}"), let total = text.firstRange(of: "{total}"),
            current.upperBound <= total.lowerBound
        else {
            node.note(
                "must be a text with {current} and then {total} in it",
                remedy: "Write it like \"Copying photos ({current}/{total})\"."
            )
            return nil
        }
        return text
    }

    /// - Returns: empty when there are none.
    static func blocks(_ root: DefinitionNode) -> [StatusBlock] {
        guard let list = root.optional("status"), let elements = list.elements() else { return [] }
        if elements.isEmpty { list.note("is empty", remedy: "Name its blocks, or leave it out.") }
        return elements.compactMap { node in
            guard node.requireMapping(keys: ["heading", "shows", "actions"]) else { return nil }
            let heading = node.required("heading")?.text()
            let contents = (node.optional("shows")?.elements() ?? []).compactMap { $0.choice(StatusBlock.Content.self) }
            let actions = (node.optional("actions")?.elements() ?? []).compactMap(action)
            guard let heading else { return nil }
            return StatusBlock(heading: Message(stringLiteral: heading), contents: contents, actions: actions)
        }
    }

    private static func action(_ node: DefinitionNode) -> StatusBlock.Action? {
        guard node.requireMapping(keys: ["label", "command"]) else { return nil }
        let label = node.required("label")?.text()
        let command = node.required("command")?.text()
        guard let label, let command else { return nil }
        return StatusBlock.Action(label: Message(stringLiteral: label), command: command)
    }
}

/// The part of the definition's reader for secrets. A value that a restore writes cannot be one: it would be lost.
enum DefinitionSecrets {
    /// - Parameter formats: all formats of the app's data; `nil` when they could not be read.
    static func read(_ root: DefinitionNode, formats: [AppDefinition]?) -> [SecretRule] {
        guard let list = root.optional("secrets") else { return [] }
        return (list.elements() ?? []).compactMap { node in
            guard node.requireMapping(keys: ["table", "key"]) else { return nil }
            let table = node.required("table")
            let keyNode = node.optional("key")
            guard let name = table?.text() else { return nil }
            let key = keyNode?.text()
            for format in formats ?? [] {
                if format.collections.contains(where: { $0.table == name }) {
                    table?.note(
                        "names \(name), which is the table of a collection",
                        remedy: "Leave it out: a restore replaces all rows of a collection. Keep secrets in a table of their own."
                    )
                    break
                }
                let objects = [format.metadata, format.settings].compactMap { $0 }.filter { $0.table == name }
                if key == nil, !objects.isEmpty {
                    table?.note("names \(name), which holds settings or metadata", remedy: "Name the secret rows with key.")
                    break
                }
                if let key, objects.contains(where: { $0.fields.contains { $0.column == key } }) {
                    keyNode?.note("names \(key), which is exported", remedy: "Leave the field out of the export, or this out.")
                    break
                }
            }
            if keyNode != nil, key == nil { return nil }
            return SecretRule(table: name, key: key)
        }
    }
}
