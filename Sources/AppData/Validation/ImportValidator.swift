import BackupCore
import SystemIO

/// Checks everything about a source of records before any data is touched. Goes through it once; memory is bounded by the
/// keys of its records.
public struct ImportValidator: Sendable {
    /// Findings after which it stops looking for more.
    public static let findingLimit = 100

    /// The longest text that the metadata of a file from elsewhere may have. Backups tell of the metadata in many places.
    public static let metadataTextLimitBytes = 1 << 20

    public let definition: AppDefinition
    /// What "in the future" is measured against.
    public let now: Timestamp
    private let limitsMetadata: Bool
    private let acceptsValues: Bool

    /// - Parameters:
    ///   - limitsMetadata: not for what this program made of the app's own data: that comes back whatever it holds.
    ///   - acceptsValues: whether values that the definition does not allow are a warning: they are rows of the app's own, which are copied.
    public init(
        definition: AppDefinition, now: Timestamp = SystemClock.now(), limitsMetadata: Bool = true, acceptsValues: Bool = false
    ) {
        self.acceptsValues = acceptsValues
        self.definition = definition
        self.now = now
        self.limitsMetadata = limitsMetadata
    }

    /// - Throws: `invalidContent` whose message is the first finding after "Import failed: ", and whose findings are all of them;
    ///   `unsupportedVersion` for a schema version that cannot be read; what the source throws when it cannot be read at all.
    public func validate(_ source: some RecordSource) throws(BackupError) -> ImportSummary {
        let visitor = ValidationVisitor(
            definition: definition, now: now, metadataTextLimitBytes: limitsMetadata ? Self.metadataTextLimitBytes : .max,
            acceptsValues: acceptsValues)
        try source.visit(with: visitor)
        return try visitor.finish()
    }
}
