/// The part of the definition's reader for the exported object: its members in order, and the collections in the same order.
struct DefinitionLayout {
    private struct Declaration {
        let name: String?
        let node: DefinitionNode
    }

    let envelope: [EnvelopeMember]
    let collections: [CollectionDefinition]

    /// - Returns: `nil` when there was a problem.
    static func read(_ root: DefinitionNode, metadata: ObjectReading?, settings: ObjectReading?) -> DefinitionLayout? {
        var declared: [Declaration] = []
        for node in root.required("collections")?.elements() ?? [] {
            let name = DefinitionObjects.collectionName(node)
            if let name, declared.contains(where: { $0.name == name }) {
                node.note("is a second \(name)", remedy: "Give each collection a name of its own.")
            }
            declared.append(Declaration(name: name, node: node))
        }
        let envelope = order(root, declared, metadata: metadata, settings: settings)
        // Every collection is checked, regardless of the envelope.
        let order = envelope?.order ?? Array(declared.indices)
        let names = order.map { declared[$0].name ?? "" }
        let readings = order.map { index in
            DefinitionObjects.collection(declared[index].node, name: declared[index].name, collectionNames: names)
        }
        checkReferences(readings)
        DefinitionMergeRules.checkOrder(readings)
        let collections = readings.compactMap(\.definition)
        guard let envelope, collections.count == readings.count else { return nil }
        return DefinitionLayout(envelope: envelope.members, collections: collections)
    }

    /// The envelope names each member once.
    /// - Returns: its members, and the indices of the collections in order; `nil` when there was a problem.
    private static func order(
        _ root: DefinitionNode, _ declared: [Declaration], metadata: ObjectReading?, settings: ObjectReading?
    ) -> (members: [EnvelopeMember], order: [Int])? {
        guard let node = root.required("envelope"), let elements = node.elements() else { return nil }
        let isComplete =
            declared.allSatisfy { $0.name != nil } && metadata?.memberNames != nil && (settings == nil || settings?.name != nil)
            && root.optional("collections") != nil
        let metadataNames = metadata?.memberNames ?? []
        let known = metadataNames + [settings?.name].compactMap { $0 } + declared.compactMap(\.name)
        for (index, name) in known.enumerated() where known[..<index].contains(name) {
            node.note("would have \(name) twice", remedy: "Give each member of the export a name of its own.")
        }
        var members: [EnvelopeMember] = []
        var order: [Int] = []
        var isUnderstood = isComplete
        for element in elements {
            guard let name = element.text() else {
                isUnderstood = false
                continue
            }
            if let index = metadataNames.firstIndex(of: name) {
                members.append(metadata?.isInline == true ? .metadataField(index) : .metadata)
            } else if name == settings?.name {
                members.append(.settings)
            } else if let index = declared.firstIndex(where: { $0.name == name }) {
                members.append(.collection(order.count))
                order.append(index)
            } else {
                isUnderstood = false
                // It may be the one whose name could not be read.
                guard isComplete else { continue }
                element.note(
                    "names \(name), which is neither a collection nor the metadata or settings",
                    remedy: DefinitionNode.suggestion(for: name, among: known))
            }
        }
        guard isUnderstood else { return nil }
        guard members.count == known.count, Set(elements.compactMap { $0.node.scalar?.string }) == Set(known) else {
            node.note(
                "must name the metadata, the settings and every collection exactly once",
                remedy: "Write [\(known.joined(separator: ", "))], in the order of the export.")
            return nil
        }
        return (members, order)
    }

    private static func checkReferences(_ readings: [CollectionReading]) {
        for reading in readings {
            for field in reading.fields {
                guard let field = field.definition, let reference = field.reference,
                    let target = readings[reference.collection].definition?.keyField
                else { continue }
                guard target.name != reference.field || target.type != field.type else { continue }
                let collection = readings[reference.collection].definition?.name ?? ""
                reading.node.note(
                    "has the field \(field.name), which must refer to a key of the same type",
                    remedy: "The key of \(collection) is \(collection).\(target.name), of type \(target.type.rawValue).")
            }
        }
    }
}
