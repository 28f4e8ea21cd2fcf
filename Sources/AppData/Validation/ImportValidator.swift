import BackupCore
import SystemIO

/// Fully validates a source of records before any data is changed. Makes one pass over it; the keys of its records bound the memory use.
public struct ImportValidator: Sendable {
    /// The number of findings after which it stops.
    public static let findingLimit = 100

    /// The longest text in the metadata of a foreign file. Backups repeat the metadata in many places.
    public static let metadataTextLimitBytes = 1 << 20

    public let definition: AppDefinition
    /// The reference for "in the future".
    public let now: Timestamp
    private let limitsMetadata: Bool
    private let acceptsValues: Bool

    /// - Parameters:
    ///   - limitsMetadata: false for data that this program exported from the app: it must be restorable, whatever it contains.
    ///   - acceptsValues: whether values that the definition does not allow are only a warning: the app's own rows, which are copied.
    public init(
        definition: AppDefinition, now: Timestamp = SystemClock.now(), limitsMetadata: Bool = true, acceptsValues: Bool = false
    ) {
        self.acceptsValues = acceptsValues
        self.definition = definition
        self.now = now
        self.limitsMetadata = limitsMetadata
    }

    /// - Throws: `invalidContent`; its message is "Import failed: " and the first finding, its findings are all of them;
    ///   `unsupportedVersion` for an unreadable schema version; errors of a source that cannot be read at all.
    public func validate(_ source: some RecordSource) throws(BackupError) -> ImportSummary {
        let visitor = ValidationVisitor(
            definition: definition, now: now, metadataTextLimitBytes: limitsMetadata ? Self.metadataTextLimitBytes : .max,
            acceptsValues: acceptsValues)
        try source.visit(with: visitor)
        return try visitor.finish()
    }
}
