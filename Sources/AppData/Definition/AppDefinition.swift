import BackupCore

/// An app as data: what it is called, what its records look like on the wire and in the database, what is checked.
public struct AppDefinition: Sendable {
    /// `ev-charging-tracker`.
    public let name: String
    /// For people.
    public let title: String
    /// The version of the wire format that is written.
    public let schemaVersion: Int
    /// The oldest version that can be read.
    public let minimumSchemaVersion: Int
    public let fileNames: FileNamePatterns
    /// The members of the exported object, in order; every collection is in it once.
    public let envelope: [EnvelopeMember]
    public let metadata: ObjectDefinition
    public let settings: ObjectDefinition?
    /// In the order of the envelope.
    public let collections: [CollectionDefinition]
    public let media: MediaDefinition?
    public let archiveLayout: [ArchiveRule]
    public let migrations: [MigrationDefinition]
    public let retention: RetentionDefinition
    public let defaultStrategy: ImportStrategy
    /// The SHA-256 of the text that it was read from: tells whether two definitions are the same.
    public let digest: SHA256Digest

    /// Names of the definitions that are part of the program.
    public static let builtInNames = ["ev-charging-tracker"]

    /// The JSON Schema (2020-12) of definitions, for editors.
    public static var formatSchema: [UInt8] { PackageResources.app_definition_schema_json }

    /// - Throws: `notFound` for a name that is not in `builtInNames`.
    public static func builtIn(named name: String) throws(BackupError) -> AppDefinition {
        try load(yaml: builtInText(named: name), path: "\(name).yaml")
    }

    /// The YAML of a definition that is part of the program, as it was written.
    /// - Throws: `notFound` for a name that is not in `builtInNames`.
    public static func builtInText(named name: String) throws(BackupError) -> String {
        let bytes: [UInt8]
        switch name {
        case "ev-charging-tracker": bytes = PackageResources.ev_charging_tracker_yaml
        default:
            throw BackupError(
                .notFound, "there is no app called \(name)",
                remedy: "Choose one of: \(builtInNames.joined(separator: ", ")).")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a definition.
    /// - Throws: `invalidContent` whose message is the first problem and begins with its line ("line 12: …"); its findings are all of them.
    public static func load(yaml: String, path: String? = nil) throws(BackupError) -> AppDefinition {
        let check = check(yaml: yaml)
        if let definition = check.definition { return definition }
        throw BackupError(
            .invalidContent, check.problems.first?.text ?? "the definition cannot be read", path: path,
            remedy: check.problems.first?.remedy, findings: check.problems.map(\.text))
    }

    /// Reads a definition and tells everything that is wrong with it.
    public static func check(yaml: String) -> DefinitionCheck { AppDefinitionReader.check(yaml) }

    /// - Returns: the index of the collection with this name on the wire.
    public func collectionIndex(named name: String) -> Int? { collections.firstIndex { $0.name == name } }

    /// - Returns: the index of the metadata field that has its value from `source`, the first if there are several.
    func metadataIndex(source: FieldSource) -> Int? { metadata.fields.firstIndex { $0.source == source } }
}
