import BackupCore
import Testing

@testable import AppData

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
        #expect(definition.archiveLayout == [:])
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
        let stamp = "2026-01-11_14-30-00"
        #expect(names.backupName(stamp: stamp, .production) == "ev_charging_tracker_backup_2026-01-11_14-30-00.json")
        #expect(names.backupName(stamp: stamp, .development) == "ev_charging_tracker_backup_dev_2026-01-11_14-30-00.json")
        #expect(names.safety.name(stamp: "2026-01-11_14-30-00_2") == "safety_backup_before_import_2026-01-11_14-30-00_2.json")
        let name = names.export.name(at: Timestamp(seconds: 1_767_182_400))
        #expect(name.wholeMatch(of: #/ev_charging_tracker_export_202\d(-\d\d){2}_\d\d(-\d\d){2}\.json/#) != nil)
    }

    @Test("an app with a media folder is only a definition away")
    func media() throws {
        let definition = try AppDefinition.load(yaml: Self.minimal)
        #expect(definition.media == MediaDefinition(folder: "photos"))
        #expect(
            definition.archiveLayout.prefixes == ["export.json": "notes.json", "media/": ""])
        #expect(definition.envelope == [.collection(0), .metadata])
        #expect(definition.settings == nil)
    }

    @Test("an unknown app is told which there are")
    func unknown() throws {
        let error = try #require(throws: BackupError.self) { try AppDefinition.builtIn(named: "nothing") }
        #expect(error.code == .notFound)
        #expect(error.remedy == "Choose one of: ev-charging-tracker, keeptrack, photo-library, smilepile.")
    }

    @Test("mistakes are told with their line", arguments: DefinitionMistakes.texts)
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
