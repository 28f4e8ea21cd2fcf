import AppData
import BackupCore
import Testing

@Suite("App definitions")
struct AppDefinitionTests {
    /// A whole definition, as short as can be.
    static let minimal = """
        format: "1"
        name: notes
        title: Notes
        schemaVersion: "3"
        minimumSchemaVersion: "2"
        fileNames:
          export: "notes_{stamp}.json"
          backup: "notes_backup_{stamp}.json"
          safety: "safety_{stamp}.json"
        retention:
          safetyKeepLast: "3"
        envelope: [notes, about]
        metadata:
          name: about
          table: about
          fields:
            - {name: version, source: schemaVersion, type: integer}
        collections:
          - name: notes
            table: notes
            key: id
            singular: note
            plural: notes
            fields:
              - {name: id, column: id, type: integer}
              - {name: body, column: body, type: text, nullable: true}
        media: {folder: photos}
        archiveLayout:
          - {from: "export.json", to: "notes.json"}
          - {from: "media/", to: ""}
        """

    @Test("the EV charging tracker is what its document says")
    func builtIn() throws {
        let definition = try AppDefinition.builtIn(named: "ev-charging-tracker")
        #expect(definition.title == "EV Charging Tracker")
        #expect(definition.schemaVersion == 1)
        #expect(definition.minimumSchemaVersion == 1)
        #expect(definition.collections.map(\.name) == ["cars", "expenses", "plannedMaintenance", "delayedNotifications"])
        #expect(definition.collections.map(\.plural) == ["cars", "expenses", "maintenance records", "notifications"])
        #expect(
            definition.envelope == [.metadata, .collection(0), .collection(1), .collection(2), .collection(3), .settings])
        #expect(
            definition.collections[1].fields.map(\.name) == [
                "id", "date", "energyCharged", "chargerType", "odometer", "cost", "notes", "isInitialRecord", "expenseType",
                "currency", "carId",
            ])
        #expect(definition.collections[0].fields[7].name == "milleageSyncedAt")
        #expect(definition.media == nil)
        #expect(definition.archiveLayout == [])
        #expect(definition.retention == RetentionDefinition(keepLast: 5, keepWithinDays: 30, safetyKeepLast: 3))
        #expect(definition.defaultStrategy == .replace)
        let chargers = try #require(definition.collections[1].fields[3].allowedValues)
        for name in ["home7kW", "publicRapid100kW", "superchargerV2150kW", "Home (7kW)", "Supercharger V4 (350kW)", "Other"] {
            #expect(chargers.contains(name))
        }
        #expect(!chargers.contains("home"))
        #expect(!chargers.contains(""))
    }

    @Test("file names carry the local time")
    func fileNames() throws {
        let names = try AppDefinition.builtIn(named: "ev-charging-tracker").fileNames
        #expect(names.export.name(stamp: "2025-12-31_23-59-59") == "ev_charging_tracker_export_2025-12-31_23-59-59.json")
        #expect(names.backup.name(stamp: "2026-01-11_14-30-00") == "ev_charging_tracker_backup_2026-01-11_14-30-00.json")
        #expect(names.safety.name(stamp: "2026-01-11_14-30-00_2") == "safety_backup_before_import_2026-01-11_14-30-00_2.json")
        let name = names.export.name(at: Timestamp(seconds: 1_767_182_400))
        #expect(name.wholeMatch(of: #/ev_charging_tracker_export_202\d(-\d\d){2}_\d\d(-\d\d){2}\.json/#) != nil)
    }

    @Test("an app with a media folder is only a definition away")
    func media() throws {
        let definition = try AppDefinition.load(yaml: Self.minimal)
        #expect(definition.media == MediaDefinition(folder: "photos"))
        #expect(
            definition.archiveLayout == [ArchiveRule(from: "export.json", to: "notes.json"), ArchiveRule(from: "media/", to: "")])
        #expect(definition.envelope == [.collection(0), .metadata])
        #expect(definition.settings == nil)
    }

    @Test("an unknown app is told which there are")
    func unknown() throws {
        let error = try #require(throws: BackupError.self) { try AppDefinition.builtIn(named: "nothing") }
        #expect(error.code == .notFound)
        #expect(error.remedy == "Choose one of: ev-charging-tracker.")
    }

    @Test(
        "mistakes are told with their line",
        arguments: [
            ("schemaVersion: \"3\"", "schemaVersion: 3", "line 4: the definition.schemaVersion must be in quotes (\"1\")"),
            (
                "schemaVersion: \"3\"", "schemaVersion: \"3.5\"",
                "line 4: the definition.schemaVersion must be a whole number from 1 to 1000000"
            ),
            (
                "schemaVersion: \"3\"", "schemaVersion: \"1\"",
                "line 5: the definition.minimumSchemaVersion must not be above schemaVersion"
            ),
            ("format: \"1\"", "format: \"2\"", "line 1: the definition.format must be \"1\""),
            ("name: notes\n", "name: Notes!\n", "line 2: the definition.name must be of lower-case letters, digits and hyphens"),
            ("title: Notes", "titel: Notes", "line 3: the definition has no member called titel"),
            ("title: Notes", "name: notes", "line 2: name is there more than once"),
            ("title: Notes\n", "", "line 1: the definition has no title"),
            (
                "notes_{stamp}.json", "notes.json",
                "line 7: the definition.fileNames.export must be a file's name with {stamp} in it once"
            ),
            (
                "safetyKeepLast: \"3\"", "safetyKeepLast: 3",
                "line 11: the definition.retention.safetyKeepLast must be in quotes (\"1\")"
            ),
            (
                "[notes, about]", "[notes, other]",
                "line 12: the definition.envelope[1] names other, which is neither a collection nor the metadata or settings"
            ),
            (
                "[notes, about]", "[notes]",
                "line 12: the definition.envelope must name the metadata, the settings and every collection exactly once"
            ),
            ("key: id", "key: body", "line 21: the definition.collections[0].key must name a required integer or text"),
            ("key: id", "key: ident", "line 21: the definition.collections[0].key names ident, which is not a field"),
            (
                "type: text, nullable: true", "type: string",
                "line 26: the definition.collections[0].fields[1].type must be one of integer, double, text, decimalText, boolean, date"
            ),
            (
                "type: text, nullable: true", "type: double, minimum: 0",
                "line 26: the definition.collections[0].fields[1].minimum must be in quotes (\"1\")"
            ),
            (
                "type: text, nullable: true", "type: text, minimum: \"0\"",
                "line 26: the definition.collections[0].fields[1].minimum is for numbers only"
            ),
            (
                "type: text, nullable: true", "type: text, nullable: maybe",
                "line 26: the definition.collections[0].fields[1].nullable must be true or false"
            ),
            (
                "type: text, nullable: true", "type: integer, references: cars.id",
                "line 26: the definition.collections[0].fields[1].references must name a collection and its key (cars.id)"
            ),
            (
                "type: text, nullable: true", "type: integer, references: notes.body",
                "line 19: the definition.collections[0] has the field body, which must refer to a key of the same type"
            ),
            (
                "name: body, column: body", "name: body, column: id",
                "line 19: the definition.collections[0] has the field or column body twice"
            ),
            (
                "folder: photos", "folder: ../photos",
                "line 27: the definition.media.folder must be a path below the database's folder"
            ),
            (
                "folder: photos", "folder: /photos",
                "line 27: the definition.media.folder must be a path below the database's folder"
            ),
            ("media: {folder: photos}", "media: {folder: photos", "line 28: "),
        ])
    func mistakes(_ old: String, _ new: String, _ message: String) throws {
        let yaml = Self.minimal.replacing(old, with: new, maxReplacements: 1)
        #expect(yaml != Self.minimal)
        let error = try #require(throws: BackupError.self) { try AppDefinition.load(yaml: yaml, path: "notes.yaml") }
        #expect(error.code == .invalidContent)
        #expect(error.path == "notes.yaml")
        #expect(error.message.hasPrefix(message), "\(error.message)")
    }

    @Test("currencies are ISO 4217 codes and the symbols that apps write")
    func currencies() {
        for code in ["USD", "EUR", "KZT", "TRY", "RUB", "XAU", "ZWG", "$", "₸", "CN¥", "Br"] {
            #expect(CurrencyCodes.contains(code))
        }
        for code in ["usd", "XXQ", "", "US", "USDX", "₿", "AAA"] { #expect(!CurrencyCodes.contains(code)) }
    }
}
