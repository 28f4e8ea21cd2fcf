import BackupCore
import BackupRepository

/// One reader of what strangers make, and what an input is for it.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// A JSON document.
    case json
    /// A byte that chooses the app, and an export of it.
    case wire
    /// A ZIP archive.
    case zip
    /// The description of a ZIP archive (`CraftedZIP`).
    case craftedZIP = "crafted-zip"
    /// The description of a tar archive (`CraftedTAR`).
    case craftedTAR = "crafted-tar"
    /// A byte that chooses app and strategy, and a file that is dropped.
    case drop
    /// A byte that chooses app and strategy, and the description of an archive that is dropped.
    case craftedDrop = "crafted-drop"
    /// The journal of an interrupted restore.
    case journal
    /// A definition, in YAML.
    case definition
    /// A repository's structures: a snapshot's record, its label, what is known of a source, a folder, a list of content, a
    /// pack's index.
    case record, label, source, directory, list
    case packIndex = "pack-index"
    /// Who holds a lock; `config`, its copy; which snapshots there should be.
    case note, config
    case configCopy = "config-copy"
    case register
    /// A repository's catalog, or statements that are run in it.
    case catalog
    /// A store's settings.
    case settings
    /// A video; a HEIF; Apple's maker note; what the helper that reads photos answers.
    case video, heif
    case makerNote = "maker-note"
    case mediaAnswer = "media-answer"

    /// What the fuzzer begins with where there is no corpus yet.
    public func examples(on ground: FuzzGround) throws -> [[UInt8]] {
        if let structure = StructureProbe(rawValue: rawValue) { return [[0] + (try structure.example)] }
        switch self {
        case .catalog:
            let statements = [
                "UPDATE chunks SET plain_length = 1", "DELETE FROM packs", "UPDATE repository SET id = x'00'",
                "UPDATE packs SET size = 'text'", "UPDATE chunks SET pack = pack + 1", "DROP TABLE chunks",
            ]
            return [try ground.repository().catalog] + statements.map { Array("sql:\($0)".utf8) }
        case .settings:
            return [Array("formatVersion: 1\napp: x\ndatabase: a.sqlite\nrepository: repository\nschedule: daily\n".utf8)]
        case .mediaAnswer: return [[0] + MediaFuzzing.exampleAnswer, [1, 1, 1, 0, 1, 0, 0, 0] + MediaFuzzing.exampleAnswer]
        default: return []
        }
    }

    /// Feeds the reader, and compares what it does with what it must do.
    /// - Throws: `FuzzViolation`.
    public func run(_ bytes: [UInt8], on ground: FuzzGround) throws -> FuzzOutcome {
        switch self {
        case .json: try JSONFuzzing.run(bytes, on: ground)
        case .wire: try WireFuzzing.run(bytes, on: ground)
        case .zip: try ZIPFuzzing.run(bytes)
        case .craftedZIP: try ZIPFuzzing.run(CraftedZIP.archive(bytes))
        case .craftedTAR: try TARFuzzing.run(CraftedTAR.archive(bytes))
        case .drop: try DropFuzzing.run(bytes.first ?? 0, Array(bytes.dropFirst()), on: ground)
        case .craftedDrop: try DropFuzzing.run(bytes.first ?? 0, CraftedZIP.archive(Array(bytes.dropFirst())), on: ground)
        case .journal: try JournalFuzzing.run(bytes)
        case .definition: try DefinitionFuzzing.run(bytes, on: ground)
        case .record: try StructureFuzzing.run(.record, bytes)
        case .label: try StructureFuzzing.run(.label, bytes)
        case .source: try StructureFuzzing.run(.source, bytes)
        case .directory: try StructureFuzzing.run(.directory, bytes)
        case .list: try StructureFuzzing.run(.list, bytes)
        case .packIndex: try StructureFuzzing.run(.packIndex, bytes)
        case .note: try StructureFuzzing.run(.note, bytes)
        case .config: try StructureFuzzing.run(.config, bytes)
        case .configCopy: try StructureFuzzing.run(.configCopy, bytes)
        case .register: try StructureFuzzing.run(.register, bytes)
        case .catalog: try CatalogFuzzing.run(bytes, on: ground)
        case .settings: try SettingsFuzzing.run(bytes)
        case .video: try MediaFuzzing.runVideo(bytes)
        case .heif: try MediaFuzzing.runHEIF(bytes)
        case .makerNote: try MediaFuzzing.runMakerNote(bytes)
        case .mediaAnswer: try MediaFuzzing.runAnswer(bytes)
        }
    }
}
