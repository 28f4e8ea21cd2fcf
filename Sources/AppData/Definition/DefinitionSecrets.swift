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
                    table?.note("names \(name), which settings or metadata lie in", remedy: "Name the secret rows with key.")
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
