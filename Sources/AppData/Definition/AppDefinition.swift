import BackupCore

/// An app as data: its name, the form of its records on the wire and in the database, and the checks.
public struct AppDefinition: Sendable {
    /// `ev-charging-tracker`.
    public let name: String
    /// For people.
    public let title: String
    /// The version of the wire format that is written.
    public private(set) var schemaVersion: Int
    /// The oldest version that can be read, by this or another format of the app.
    public private(set) var minimumSchemaVersion: Int
    /// The newest known version: files of later ones are read with a warning.
    public private(set) var newestSchemaVersion: Int
    /// The versions that have this format; `otherFormats` has the others.
    public let formatVersions: ClosedRange<Int>
    /// Whether data goes out in this format.
    public let isWritten: Bool
    /// The app's other wire formats, in ascending order of their versions: with separate records, settings and metadata, and
    /// everything else as here. Data that came in one of them goes out in it.
    public private(set) var otherFormats: [AppDefinition]
    public let style: WireStyle
    /// The version in which data of this format goes out: its own, or the main format's when this one is only read.
    public private(set) var writtenVersion: Int
    /// The meaning of a number in place of a date; `nil` when it has none.
    public let dateNumbers: DateNumbers?
    /// Whether the collections are all tables of the database, detected each time: the app has no definition.
    public let coversWholeDatabase: Bool
    /// How to treat a file whose columns differ from those that the database has now.
    public let schemaDrift: SchemaDrift
    /// How exports, archives and safety backups are named in `exports/` and `safety/`.
    public let fileNames: FileNamePatterns
    /// The members of the exported object, in order; every collection is in it once.
    public private(set) var envelope: [EnvelopeMember]
    /// The member with the export's version and time.
    public let metadata: ObjectDefinition
    /// The member with the app's settings; `nil` for an app that exports none.
    public let settings: ObjectDefinition?
    /// In the order of the envelope.
    public private(set) var collections: [CollectionDefinition]
    public let media: MediaDefinition?
    /// Where media files are in the archive; without rules, at their own paths.
    public let archiveLayout: ArchivePathMap
    /// In the order in which they run.
    public let migrations: [MigrationDefinition]
    /// When automatic backups run, if the store's settings do not say.
    public let schedule: Schedule
    /// The app's own switch for them: a boolean setting. `schedule` applies only while it is not false.
    public private(set) var scheduleSwitch: String?
    /// The app's own switch for the exchange of changes with other devices: a boolean setting. Only while it is true, the store's
    /// setting `device-sync` applies.
    public private(set) var syncSwitch: String?
    public let retention: RetentionDefinition
    /// What a restore uses that names none.
    public let defaultStrategy: ImportStrategy
    /// All strategies of the app, the default first.
    public let strategies: [ImportStrategy]
    /// Files in which the app kept its data before it had a database.
    public let legacyFiles: [LegacyFile]
    /// The names of a backup's stages in the app's own documents, in order; empty if they have none.
    public let backupPhases: [BackupPhase]
    /// What `backupfs status` shows to people; empty for the same output as for any app.
    public let statusBlocks: [StatusBlock]
    /// For stores whose settings do not say.
    public let announcements: AppNotifications
    /// Values that never leave the database.
    public private(set) var secrets: [SecretRule] = []
    /// The SHA-256 of its source text: shows whether two definitions are the same.
    public let digest: SHA256Digest

    /// Names of the definitions that are part of the program.
    public static let builtInNames = ["ev-charging-tracker", "keeptrack", "photo-library", "smilepile"]

    /// The JSON Schema (2020-12) of definitions, for editors.
    public static var formatSchema: [UInt8] { PackageResources.app_definition_schema_json }

    /// The original YAML of a built-in definition.
    /// - Throws: `notFound` for a name that is not in `builtInNames`
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

    /// The format of a version's data: this one, or another of the app's. A version newer than all has the newest format.
    public func format(ofVersion version: Int) -> AppDefinition {
        let known = min(version, newestSchemaVersion)
        guard var format = otherFormats.first(where: { $0.formatVersions.contains(known) }) else { return self }
        // Data that came as version 5 goes out as version 5.
        format.schemaVersion = known
        format.writtenVersion = format.isWritten ? known : schemaVersion
        format.minimumSchemaVersion = minimumSchemaVersion
        format.newestSchemaVersion = newestSchemaVersion
        return format
    }

    /// As if the app had only this format: later versions count as newer ones of it.
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

    func replacing(syncSwitch: String?) -> AppDefinition {
        var definition = self
        definition.syncSwitch = syncSwitch
        definition.otherFormats = otherFormats.map { $0.replacing(syncSwitch: syncSwitch) }
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

    /// The same, with records that their keys alone identify, and that a merge updates: for single records, which a user has
    /// chosen.
    public var identifiedByKeys: AppDefinition {
        replacing(collections: collections.map(\.identifiedByKey), envelope: envelope, otherFormats: otherFormats)
    }

    /// Whether a collection is written in the same way in two formats of an app.
    public func hasSameForm(of collection: String, as other: AppDefinition) -> Bool {
        guard let own = collections.first(where: { $0.name == collection }),
            let others = other.collections.first(where: { $0.name == collection })
        else { return false }
        return dateNumbers == other.dateNumbers && own.hasSameForm(as: others)
    }

    /// The definition of a database without one, with the tables that were found in it.
    func covering(_ tables: [CollectionDefinition]) -> AppDefinition {
        var definition = self
        definition.collections = tables
        definition.envelope = [.metadata] + tables.indices.map { .collection($0) }
        return definition
    }

    /// Whether there are collections that are generated from the media folder.
    public var describesMedia: Bool { formats.contains { $0.collections.contains { $0.source != .table } } }

    /// Whether there are records in tables. If not, only media can be restored.
    public var hasTables: Bool { coversWholeDatabase || formats.contains { $0.collections.contains { $0.source == .table } } }

    /// All formats that the app's data can have, this one first.
    public var formats: [AppDefinition] { [self] + otherFormats }

    /// The wire name of a collection's key, in any format; `nil` when none has the collection: then it was or is a table of a
    /// database without a definition, whose key comes first in each record.
    public func keyName(ofCollection name: String) -> String? {
        formats.lazy.flatMap(\.collections).first { $0.name == name }?.keyField.name
    }

    /// The wire names of a collection's members that contain checksums of media files. They are null in the present data: only a
    /// backup reads the files.
    public func checksumFieldNames(ofCollection name: String) -> Set<String> {
        let fields = formats.flatMap(\.collections).filter { $0.name == name }.flatMap(\.fields)
        return Set(fields.filter { $0.mediaValue?.isOfChecksum ?? false }.map(\.name))
    }

    /// - Returns: the index of the collection with this name on the wire.
    public func collectionIndex(named name: String) -> Int? { collections.firstIndex { $0.name == name } }

    /// - Returns: the index of the metadata field with this source, the first if there are several
    func metadataIndex(source: FieldSource) -> Int? { metadata.fields.firstIndex { $0.source == source } }
}

/// A member of the exported object.
public enum EnvelopeMember: Sendable, Equatable {
    case metadata
    /// Index of a field of the metadata, if these are direct members of the outermost object.
    case metadataField(Int)
    /// Index into `AppDefinition.collections`.
    case collection(Int)
    case settings
}

/// The meaning of a number where a date is expected.
public enum DateNumbers: String, Sendable, CaseIterable {
    /// Seconds since 2001-01-01T00:00:00Z, the default of Foundation's encoders for dates.
    case secondsSince2001
}

/// The wire format's spelling of JSON; the content is the same.
public enum WireStyle: String, Sendable, CaseIterable {
    /// `"key": value`, doubles always with `.0` or exponent, a line feed at the end.
    case plain
    /// As Foundation's `JSONEncoder` writes it with `.prettyPrinted`: `"key" : value`, integral doubles without `.0`, `\/` for
    /// slashes, no line feed at the end.
    case foundation
}

/// What a restore does with records of a database without a definition if its columns have changed since.
public enum SchemaDrift: String, Sendable, CaseIterable {
    /// Refuses the file, and reports the differences. `database.sqlite` contains its own tables.
    case refuse
    /// Columns missing from the file get their defaults, values without a column are dropped, and tables missing from the file
    /// stay unchanged. Each difference is reported as a warning.
    case adapt
}

/// A value that never leaves the app's database: it is in no export and in no copy of the database, and a restore does not change
/// it.
public struct SecretRule: Sendable, Equatable {
    /// Name of a table in the database.
    public let table: String
    /// The row of a key/value table; `nil` for all rows of the table.
    public let key: String?
}

/// What a restore does with existing data.
public enum ImportStrategy: String, Sendable, CaseIterable {
    /// Deletes all of it, and inserts the file's data.
    case replace
    /// Adds missing records; existing ones get the file's values, unless the collection says otherwise.
    case merge
    /// Adds missing records; existing ones stay unchanged.
    case skip
}

/// The app version that makes a backup: the production one, or the one of its developers. Backups of the two are named, listed,
/// counted and removed separately.
public enum Channel: String, CaseIterable, Sendable {
    case production
    case development
}

/// The app's retention rules. The newest backup is always kept.
public struct RetentionDefinition: Sendable, Equatable {
    /// How many of the newest stay; `nil` for no rule by number.
    public let keepLast: Int?
    /// How long a backup stays, in days; `nil` for no rule by age.
    public let keepWithinDays: Int?
    /// How many safety backups stay.
    public let safetyKeepLast: Int
    /// The backups that are counted and removed.
    public let counted: RetentionScope

    public init(keepLast: Int?, keepWithinDays: Int?, safetyKeepLast: Int, counted: RetentionScope = .unnamed) {
        self.keepLast = keepLast
        self.keepWithinDays = keepWithinDays
        self.safetyKeepLast = safetyKeepLast
        self.counted = counted
    }
}

/// The backups that a retention rule counts and removes; it leaves the others alone.
public enum RetentionScope: String, Sendable, CaseIterable {
    /// Backups that the schedule made.
    case automatic
    /// Backups without a chosen name, which are named after their time: includes manual ones.
    case unnamed
    case all
}

/// A migration of the embedded database to the next version of its schema.
public struct MigrationDefinition: Sendable, Equatable {
    /// Unique and never changed: the database records it when done.
    public let name: String
    /// One or more SQL statements.
    public let sql: String
}

/// A file in which the app kept its data before it had a database.
public struct LegacyFile: Sendable, Equatable {
    /// Its name in the migrated folder.
    public let name: String
    /// The export member that it contains: a collection's name, or that of the settings.
    public let member: String
}

/// Whether the `notify` command of a store's settings runs after requested operations, if the settings do not say.
public enum AppNotifications: String, CaseIterable, Sendable {
    case on
    case off
}
