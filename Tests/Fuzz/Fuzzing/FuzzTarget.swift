import BackupCore

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
        }
    }
}
