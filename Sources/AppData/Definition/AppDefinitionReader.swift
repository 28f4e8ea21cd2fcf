import BackupCore
import SystemIO
import Yams

/// Turns YAML into a definition, and refuses anything it does not know: a misspelt member would silently check nothing.
enum AppDefinitionReader {
    static let formatVersion = "1"

    static func read(_ yaml: String) throws(BackupError) -> AppDefinition {
        let root = DefinitionNode(node: try parse(yaml), place: "the definition")
        try root.requireMapping(keys: [
            "format", "name", "title", "schemaVersion", "minimumSchemaVersion", "fileNames", "strategy", "retention",
            "wholeDatabase", "schemaDrift", "style", "envelope", "metadata", "settings", "collections", "wireFormats", "media",
            "archiveLayout", "migrations",
        ])
        let format = try root.required("format")
        guard try format.quoted() == formatVersion else { throw format.failure("must be \"\(formatVersion)\"") }
        let schemaVersion = try root.required("schemaVersion").quotedInteger(in: 1...1_000_000)
        let minimum = try root.required("minimumSchemaVersion")
        let minimumVersion = try minimum.quotedInteger(in: 1...1_000_000)
        guard minimumVersion <= schemaVersion else { throw minimum.failure("must not be above schemaVersion") }
        let common = CommonParts(
            name: try identifier(root.required("name")), title: try root.required("title").text(),
            fileNames: try fileNames(root.required("fileNames")), media: try media(root),
            archiveLayout: try archiveLayout(root), migrations: try migrations(root),
            retention: try retention(root.required("retention")),
            defaultStrategy: try root.optional("strategy")?.choice(ImportStrategy.self) ?? .replace,
            digest: SHA256Hasher.hash(Array(yaml.utf8)))
        let versions = minimumVersion...schemaVersion
        if let whole = root.optional("wholeDatabase"), try whole.boolean() { return try wholeDatabase(root, versions, common) }
        if let drift = root.optional("schemaDrift") { throw drift.failure("is for wholeDatabase only") }
        let others = try otherFormats(root, common, versions)
        return try wireFormat(root, versions: versions, others, common, inheriting: nil)
    }

    /// What all wire formats of an app share.
    private struct CommonParts {
        let name: String
        let title: String
        let fileNames: FileNamePatterns
        let media: MediaDefinition?
        let archiveLayout: [ArchiveRule]
        let migrations: [MigrationDefinition]
        let retention: RetentionDefinition
        let defaultStrategy: ImportStrategy
        let digest: SHA256Digest
    }

    /// - Parameter main: where metadata and settings come from that `node` does not have.
    private static func wireFormat(
        _ node: DefinitionNode, versions: ClosedRange<Int>, _ others: [AppDefinition], _ common: CommonParts,
        inheriting main: DefinitionNode?
    ) throws(BackupError) -> AppDefinition {
        let source = main ?? node
        let metadata: ObjectDefinition
        if let own = node.optional("metadata") {
            metadata = try DefinitionObjects.object(own)
        } else {
            metadata = try DefinitionObjects.object(source.required("metadata"))
        }
        let settings = try (node.optional("settings") ?? source.optional("settings")).map { (node) throws(BackupError) in
            try DefinitionObjects.object(node)
        }
        let (envelope, collections) = try layOut(node, metadata: metadata, settings: settings)
        let all = others.map(\.formatVersions) + [versions]
        return AppDefinition(
            name: common.name, title: common.title, schemaVersion: versions.upperBound,
            minimumSchemaVersion: all.map(\.lowerBound).min() ?? versions.lowerBound,
            newestSchemaVersion: all.map(\.upperBound).max() ?? versions.upperBound, formatVersions: versions,
            otherFormats: others, style: try node.optional("style")?.choice(WireStyle.self) ?? .plain,
            coversWholeDatabase: false, schemaDrift: .refuse, fileNames: common.fileNames, envelope: envelope, metadata: metadata,
            settings: settings, collections: collections,
            media: common.media, archiveLayout: common.archiveLayout, migrations: common.migrations, retention: common.retention,
            defaultStrategy: common.defaultStrategy, digest: common.digest)
    }

    /// An app that nobody has described: its collections are the tables that its database turns out to have.
    private static func wholeDatabase(
        _ root: DefinitionNode, _ versions: ClosedRange<Int>, _ common: CommonParts
    ) throws(BackupError) -> AppDefinition {
        for name in ["envelope", "metadata", "settings", "collections", "wireFormats", "migrations"] {
            guard let node = root.optional(name) else { continue }
            throw node.failure("cannot be together with wholeDatabase: what the database has is found in it")
        }
        let metadata = ObjectDefinition(
            name: DatabaseIntrospection.metadataName, table: nil, isRequired: true,
            fields: [
                FieldDefinition(name: "createdAt", column: "", type: .date, source: .creationTime),
                FieldDefinition(name: "schemaVersion", column: "", type: .integer, source: .schemaVersion),
            ])
        return AppDefinition(
            name: common.name, title: common.title, schemaVersion: versions.upperBound, minimumSchemaVersion: versions.lowerBound,
            newestSchemaVersion: versions.upperBound, formatVersions: versions, otherFormats: [],
            style: try root.optional("style")?.choice(WireStyle.self) ?? .plain, coversWholeDatabase: true,
            schemaDrift: try root.optional("schemaDrift")?.choice(SchemaDrift.self) ?? .refuse, fileNames: common.fileNames,
            envelope: [.metadata], metadata: metadata, settings: nil, collections: [], media: common.media,
            archiveLayout: common.archiveLayout, migrations: [], retention: common.retention,
            defaultStrategy: common.defaultStrategy, digest: common.digest)
    }

    /// Formats of other versions. Together with the main one they have every version from the oldest to the newest, once.
    private static func otherFormats(
        _ root: DefinitionNode, _ common: CommonParts, _ mainVersions: ClosedRange<Int>
    ) throws(BackupError) -> [AppDefinition] {
        guard let list = root.optional("wireFormats") else { return [] }
        var formats: [AppDefinition] = []
        for node in try list.elements() {
            try node.requireMapping(keys: ["versions", "style", "envelope", "metadata", "settings", "collections"])
            let versions = try node.required("versions")
            let range = try versions.quotedRange(in: 1...1_000_000)
            let known = formats.map(\.formatVersions) + [mainVersions]
            guard !known.contains(where: { $0.overlaps(range) }) else { throw versions.failure("are of another format too") }
            formats.append(try wireFormat(node, versions: range, [], common, inheriting: root))
        }
        formats.sort { $0.formatVersions.lowerBound < $1.formatVersions.lowerBound }
        let ranges = (formats.map(\.formatVersions) + [mainVersions]).sorted { $0.lowerBound < $1.lowerBound }
        for (range, next) in zip(ranges, ranges.dropFirst()) where range.upperBound + 1 != next.lowerBound {
            throw list.failure("leave out version \(range.upperBound + 1)")
        }
        return formats
    }

    private static func parse(_ yaml: String) throws(BackupError) -> Node {
        do {
            guard let node = try Yams.compose(yaml: yaml) else {
                throw DefinitionNode.failure(line: 1, "the definition is empty")
            }
            return node
        } catch let error as BackupError {
            throw error
        } catch let error as YamlError {
            switch error {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                throw DefinitionNode.failure(line: mark.line, problem)
            case .duplicatedKeysInMapping(let names, let context):
                let list = names.sorted().joined(separator: ", ")
                throw DefinitionNode.failure(line: context.mark.line, "\(list) is there more than once")
            default: throw DefinitionNode.failure(line: 1, "\(error)")
            }
        } catch {
            throw DefinitionNode.failure(line: 1, "\(error)")
        }
    }

    /// Collections in the order of the envelope, which names each member once.
    private static func layOut(
        _ root: DefinitionNode, metadata: ObjectDefinition, settings: ObjectDefinition?
    ) throws(BackupError) -> ([EnvelopeMember], [CollectionDefinition]) {
        let nodes = try root.required("collections").elements()
        var declared: [(name: String, node: DefinitionNode)] = []
        for node in nodes {
            let name = try DefinitionObjects.collectionName(node)
            guard !declared.contains(where: { $0.name == name }) else { throw node.failure("is a second \(name)") }
            declared.append((name, node))
        }
        var envelope: [EnvelopeMember] = []
        var order: [(name: String, node: DefinitionNode)] = []
        let envelopeNode = try root.required("envelope")
        for element in try envelopeNode.elements() {
            let name = try element.text()
            if name == metadata.name {
                envelope.append(.metadata)
            } else if name == settings?.name {
                envelope.append(.settings)
            } else if let entry = declared.first(where: { $0.name == name }) {
                envelope.append(.collection(order.count))
                order.append(entry)
            } else {
                throw element.failure("names \(name), which is neither a collection nor the metadata or settings")
            }
        }
        let expectedCount = nodes.count + 1 + (settings == nil ? 0 : 1)
        guard envelope.count == expectedCount, Set(order.map(\.name)).count == nodes.count, envelope.contains(.metadata) else {
            throw envelopeNode.failure("must name the metadata, the settings and every collection exactly once")
        }
        let names = order.map(\.name)
        var collections: [CollectionDefinition] = []
        for entry in order { collections.append(try DefinitionObjects.collection(entry.node, collectionNames: names)) }
        for (index, collection) in collections.enumerated() {
            for field in collection.fields {
                guard let reference = field.reference else { continue }
                let target = collections[reference.collection].keyField
                guard target.name == reference.field, target.type == field.type else {
                    throw order[index].node.failure("has the field \(field.name), which must refer to a key of the same type")
                }
            }
        }
        return (envelope, collections)
    }

    /// Lower-case words joined by hyphens: it becomes part of paths and attributes.
    private static func identifier(_ node: DefinitionNode) throws(BackupError) -> String {
        let text = try node.text()
        let isFine = text.utf8.allSatisfy { byte in
            (97...122).contains(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "-")
        }
        guard isFine, !text.isEmpty, text.utf8.count <= 64 else {
            throw node.failure("must be of lower-case letters, digits and hyphens")
        }
        return text
    }

    private static func fileNames(_ node: DefinitionNode) throws(BackupError) -> FileNamePatterns {
        try node.requireMapping(keys: ["export", "backup", "safety"])
        return FileNamePatterns(
            export: try pattern(node.required("export")), backup: try pattern(node.required("backup")),
            safety: try pattern(node.required("safety")))
    }

    private static func pattern(_ node: DefinitionNode) throws(BackupError) -> FileNamePattern {
        guard let pattern = FileNamePattern(try node.text()) else {
            throw node.failure("must be a file's name with {stamp} in it once")
        }
        return pattern
    }

    private static func retention(_ node: DefinitionNode) throws(BackupError) -> RetentionDefinition {
        try node.requireMapping(keys: ["keepLast", "keepWithinDays", "safetyKeepLast"])
        return RetentionDefinition(
            keepLast: try node.optional("keepLast")?.quotedInteger(in: 1...1_000_000),
            keepWithinDays: try node.optional("keepWithinDays")?.quotedInteger(in: 1...1_000_000),
            safetyKeepLast: try node.required("safetyKeepLast").quotedInteger(in: 1...1_000_000))
    }

    private static func media(_ root: DefinitionNode) throws(BackupError) -> MediaDefinition? {
        guard let node = root.optional("media") else { return nil }
        try node.requireMapping(keys: ["folder"])
        let folder = try node.required("folder")
        let text = try folder.text()
        guard isSafeRelativePath(text) else { throw folder.failure("must be a path below the database's folder") }
        return MediaDefinition(folder: text)
    }

    private static func archiveLayout(_ root: DefinitionNode) throws(BackupError) -> [ArchiveRule] {
        guard let list = root.optional("archiveLayout") else { return [] }
        var rules: [ArchiveRule] = []
        for node in try list.elements() {
            try node.requireMapping(keys: ["from", "to"])
            let from = try node.required("from").text()
            let to = try node.required("to")
            let target = try to.quotedOrPlain()
            guard target.isEmpty || isSafeRelativePath(target) else { throw to.failure("must be a relative path") }
            rules.append(ArchiveRule(from: from, to: target))
        }
        return rules
    }

    private static func isSafeRelativePath(_ text: String) -> Bool {
        let trimmed = text.hasSuffix("/") ? text.dropLast() : text[...]
        let parts = trimmed.split(separator: "/", omittingEmptySubsequences: false)
        return !parts.isEmpty && parts.allSatisfy { FileName($0).isSafeComponent }
    }

    private static func migrations(_ root: DefinitionNode) throws(BackupError) -> [MigrationDefinition] {
        guard let list = root.optional("migrations") else { return [] }
        var migrations: [MigrationDefinition] = []
        for node in try list.elements() {
            try node.requireMapping(keys: ["name", "sql"])
            let name = try node.required("name").text()
            guard !migrations.contains(where: { $0.name == name }) else { throw node.failure("is a second \(name)") }
            migrations.append(MigrationDefinition(name: name, sql: try node.required("sql").text()))
        }
        return migrations
    }
}
