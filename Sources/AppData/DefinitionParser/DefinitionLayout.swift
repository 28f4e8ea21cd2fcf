/// The part of the definition's reader for wire formats: the main one, which is in the definition itself, and those of other
/// versions. A database without a definition has one, without collections.
struct ParsedWireFormat {
    let versions: ClosedRange<Int>
    let isWritten: Bool
    let style: WireStyle
    let dateNumbers: DateNumbers?
    let metadata: ObjectDefinition
    let settings: ObjectDefinition?
    let layout: DefinitionLayout
    let schemaDrift: SchemaDrift?
    let others: [ParsedWireFormat]

    /// - Parameter versions: of the main format; `nil` when they could not be read.
    /// - Returns: `nil` when there was a problem.
    static func read(_ root: DefinitionNode, versions: ClosedRange<Int>?) -> ParsedWireFormat? {
        if root.optional("wholeDatabase")?.boolean() == true { return wholeDatabase(root, versions) }
        root.optional("schemaDrift")?.note("is for wholeDatabase only", remedy: "Leave it out.")
        let others = others(root, versions)
        let main = read(root, versions, inheriting: nil, others ?? [])
        return others == nil ? nil : main
    }

    /// - Parameter main: the source of metadata and settings that `node` lacks.
    private static func read(
        _ node: DefinitionNode, _ versions: ClosedRange<Int>?, inheriting main: DefinitionNode?, _ others: [ParsedWireFormat]
    ) -> ParsedWireFormat? {
        let style = node.optional("style").map { $0.choice(WireStyle.self) } ?? .plain
        let dateNumbers = dateNumbers(node)
        let isWritten = main == nil ? true : node.optional("written")?.boolean() ?? true
        let source = main ?? node
        let metadata = (node.optional("metadata") ?? source.required("metadata")).map {
            DefinitionObjects.object($0, isMetadata: true)
        }
        let settings = (node.optional("settings") ?? source.optional("settings")).map {
            DefinitionObjects.object($0, isMetadata: false)
        }
        let layout = DefinitionLayout.read(node, metadata: metadata, settings: settings)
        guard let versions, let style, let metadata = metadata?.definition, let layout else { return nil }
        return ParsedWireFormat(
            versions: versions, isWritten: isWritten, style: style, dateNumbers: dateNumbers, metadata: metadata,
            settings: settings?.definition, layout: layout, schemaDrift: nil, others: others)
    }

    private static func dateNumbers(_ node: DefinitionNode) -> DateNumbers? {
        node.optional("dateNumbers").flatMap { $0.choice(DateNumbers.self) }
    }

    /// Together with the main format they must cover every version from the oldest to the newest exactly once.
    private static func others(_ root: DefinitionNode, _ mainVersions: ClosedRange<Int>?) -> [ParsedWireFormat]? {
        guard let list = root.optional("wireFormats") else { return [] }
        guard let elements = list.elements() else { return nil }
        var ranges = mainVersions.map { [$0] } ?? []
        var readings: [ParsedWireFormat?] = []
        for node in elements {
            guard
                node.requireMapping(keys: [
                    "versions", "written", "style", "dateNumbers", "envelope", "metadata", "settings", "collections",
                ])
            else {
                return nil
            }
            let versions = node.required("versions")
            let range = versions?.quotedRange(in: 1...1_000_000)
            if let range {
                if ranges.contains(where: { $0.overlaps(range) }) {
                    versions?.note("are of another format too", remedy: "Give each version to one format.")
                }
                ranges.append(range)
            }
            readings.append(read(node, range, inheriting: root, []))
        }
        ranges.sort { $0.lowerBound < $1.lowerBound }
        for (range, next) in zip(ranges, ranges.dropFirst()) where range.upperBound + 1 < next.lowerBound {
            list.note("leave out version \(range.upperBound + 1)", remedy: "Give it to one of the formats beside it.")
        }
        guard !readings.contains(where: { $0 == nil }) else { return nil }
        return readings.compactMap { $0 }.sorted { $0.versions.lowerBound < $1.versions.lowerBound }
    }

    /// An app without a definition: its collections are the tables found in its database.
    private static func wholeDatabase(_ root: DefinitionNode, _ versions: ClosedRange<Int>?) -> ParsedWireFormat? {
        for name in ["dateNumbers", "secrets", "envelope", "metadata", "settings", "collections", "wireFormats", "migrations"] {
            root.optional(name)?.note(
                "cannot be together with wholeDatabase", remedy: "Leave it out: what the database has is found in it.")
        }
        let style = root.optional("style").map { $0.choice(WireStyle.self) } ?? .plain
        let drift = root.optional("schemaDrift").map { $0.choice(SchemaDrift.self) } ?? .refuse
        guard let versions, let style, let drift else { return nil }
        let metadata = ObjectDefinition(
            name: WholeDatabase.metadataName, table: nil, isRequired: true,
            fields: [
                FieldDefinition(name: "createdAt", column: "", type: .date, source: .creationTime),
                FieldDefinition(name: "schemaVersion", column: "", type: .integer, source: .schemaVersion),
            ])
        return ParsedWireFormat(
            versions: versions, isWritten: true, style: style, dateNumbers: nil, metadata: metadata, settings: nil,
            layout: DefinitionLayout(envelope: [.metadata], collections: []), schemaDrift: drift, others: [])
    }
}

/// The part of the definition's reader for the exported object: its members in order, and the collections in the same order.
struct DefinitionLayout {
    private struct Declaration {
        let name: String?
        let node: DefinitionNode
    }

    let envelope: [EnvelopeMember]
    let collections: [CollectionDefinition]

    /// - Returns: `nil` when there was a problem.
    static func read(_ root: DefinitionNode, metadata: ParsedObject?, settings: ParsedObject?) -> DefinitionLayout? {
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
        _ root: DefinitionNode, _ declared: [Declaration], metadata: ParsedObject?, settings: ParsedObject?
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

    private static func checkReferences(_ readings: [ParsedCollection]) {
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
