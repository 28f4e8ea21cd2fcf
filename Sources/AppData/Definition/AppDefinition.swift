import BackupCore

/// An app as data: what it is called, what its records look like on the wire and in the database, what is checked.
public struct AppDefinition: Sendable {
    /// `ev-charging-tracker`.
    public let name: String
    /// For people.
    public let title: String
    /// The version of the wire format that is written.
    public private(set) var schemaVersion: Int
    /// The oldest version that can be read, by this format or by another of the app's.
    public private(set) var minimumSchemaVersion: Int
    /// The newest version that is known: files of later ones are read with a warning.
    public private(set) var newestSchemaVersion: Int
    /// The versions that have this form; `otherFormats` has the others.
    public let formatVersions: ClosedRange<Int>
    /// Whether data goes out in this form.
    public let isWritten: Bool
    /// The app's other wire formats, in ascending order of their versions: with records, settings and metadata of their own, and all else as
    /// here. Data that came in one of them goes out in it.
    public private(set) var otherFormats: [AppDefinition]
    public let style: WireStyle
    /// The version that data which came in this form goes out in: its own, or the main form's when this one is only read.
    public private(set) var writtenVersion: Int
    /// What a number in the place of a date means; `nil` when it means nothing.
    public let dateNumbers: DateNumbers?
    /// Whether the collections are the tables that the database has, all of them, found anew each time: nobody has described them.
    public let coversWholeDatabase: Bool
    /// What becomes of a file whose columns are not those that the database has now.
    public let schemaDrift: SchemaDrift
    public let fileNames: FileNamePatterns
    /// The members of the exported object, in order; every collection is in it once.
    public private(set) var envelope: [EnvelopeMember]
    public let metadata: ObjectDefinition
    public let settings: ObjectDefinition?
    /// In the order of the envelope.
    public private(set) var collections: [CollectionDefinition]
    public let media: MediaDefinition?
    public let archiveLayout: ArchivePathMap
    public let migrations: [MigrationDefinition]
    /// When backups are made by themselves, if the store's settings do not say.
    public let schedule: Schedule
    /// The app's own switch for them: a setting that is true or false. `schedule` counts only while it is not false.
    public private(set) var scheduleSwitch: String?
    public let retention: RetentionDefinition
    public let defaultStrategy: ImportStrategy
    /// All that the app has, the default first.
    public let strategies: [ImportStrategy]
    /// Files in which the app kept its data before it had a database.
    public let legacyFiles: [LegacyFile]
    /// How the app's own documents call the stages of a backup, in their order; empty where they say nothing of it.
    public let backupPhases: [BackupPhase]
    /// What `backupfs status` shows to people; empty for what it shows of any app.
    public let statusBlocks: [StatusBlock]
    public let announcements: Announcements
    /// What never leaves the database.
    public private(set) var secrets: [SecretRule] = []
    /// The SHA-256 of the text that it was read from: tells whether two definitions are the same.
    public let digest: SHA256Digest

    /// Names of the definitions that are part of the program.
    public static let builtInNames = ["ev-charging-tracker", "keeptrack", "photo-library", "smilepile"]

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
        case "keeptrack": bytes = PackageResources.keeptrack_yaml
        case "photo-library": bytes = PackageResources.photo_library_yaml
        case "smilepile": bytes = PackageResources.smilepile_yaml
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

    /// The form that data of a version has: this one, or another of the app's. A version newer than all has the newest form.
    public func format(ofVersion version: Int) -> AppDefinition {
        let known = min(version, newestSchemaVersion)
        guard var format = otherFormats.first(where: { $0.formatVersions.contains(known) }) else { return self }
        // What came as version 5 goes out as version 5.
        format.schemaVersion = known
        format.writtenVersion = format.isWritten ? known : schemaVersion
        format.minimumSchemaVersion = minimumSchemaVersion
        format.newestSchemaVersion = newestSchemaVersion
        return format
    }

    /// As if the app had this format alone: later versions are newer ones of it.
    public var withoutOtherFormats: AppDefinition {
        var definition = self
        definition.otherFormats = []
        definition.newestSchemaVersion = formatVersions.upperBound
        return definition
    }

    func replacing(secrets: [SecretRule]) -> AppDefinition {
        var definition = self
        definition.secrets = secrets
        definition.otherFormats = otherFormats.map { $0.replacing(secrets: secrets) }
        return definition
    }

    func replacing(scheduleSwitch: String?) -> AppDefinition {
        var definition = self
        definition.scheduleSwitch = scheduleSwitch
        definition.otherFormats = otherFormats.map { $0.replacing(scheduleSwitch: scheduleSwitch) }
        return definition
    }

    func replacing(
        collections: [CollectionDefinition], envelope: [EnvelopeMember], otherFormats: [AppDefinition]
    ) -> AppDefinition {
        var definition = self
        definition.collections = collections
        definition.envelope = envelope
        definition.otherFormats = otherFormats
        return definition
    }

    /// The definition of a database nobody has described, with the tables that were found in it.
    func covering(_ tables: [CollectionDefinition]) -> AppDefinition {
        var definition = self
        definition.collections = tables
        definition.envelope = [.metadata] + tables.indices.map { .collection($0) }
        return definition
    }

    /// Whether there are collections that are told of the media folder.
    public var tellsOfMedia: Bool { formats.contains { $0.collections.contains { $0.source != .table } } }

    /// Whether there are records in tables. If not, nothing but media can be restored.
    public var hasTables: Bool { coversWholeDatabase || formats.contains { $0.collections.contains { $0.source == .table } } }

    /// All forms that the app's data can have, this one first.
    public var formats: [AppDefinition] { [self] + otherFormats }

    /// The wire name of the key of a collection, in whichever format it is; `nil` when none has the collection: then it was or is a table of a
    /// database nobody has described, whose key stands first in each record.
    public func keyName(ofCollection name: String) -> String? {
        formats.lazy.flatMap(\.collections).first { $0.name == name }?.keyField.name
    }

    /// The wire names of the members of a collection that are made of the checksums of media files. They are null in the data as it is now: only a
    /// backup reads the files.
    public func checksumFieldNames(ofCollection name: String) -> Set<String> {
        let fields = formats.flatMap(\.collections).filter { $0.name == name }.flatMap(\.fields)
        return Set(fields.filter { $0.mediaValue?.isOfChecksum ?? false }.map(\.name))
    }

    /// - Returns: the index of the collection with this name on the wire.
    public func collectionIndex(named name: String) -> Int? { collections.firstIndex { $0.name == name } }

    /// - Returns: the index of the metadata field that has its value from `source`, the first if there are several.
    func metadataIndex(source: FieldSource) -> Int? { metadata.fields.firstIndex { $0.source == source } }
}
