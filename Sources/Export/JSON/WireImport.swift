import AppData
import BackupCore
import SystemIO

/// An export file that was read in the wire format that it has, and found to be valid.
public struct WireImport: Sendable {
    public let reader: WireReader
    public let summary: ImportSummary

    /// A reader in the wire format that a file says it has, whether or not it is valid.
    public static func reader(of source: any ByteSource, definition: AppDefinition) -> WireReader {
        let version = try? WireVersionScan.version(in: source, definition: definition)
        return WireReader(source, definition: version.flatMap { $0 }.map { definition.format(ofVersion: $0) } ?? definition)
    }

    /// Reads a file whole.
    /// - Parameters:
    ///   - now: what "in the future" is measured against.
    ///   - limitsMetadata, acceptsValues: as `ImportValidator` has them.
    /// - Throws: as `ImportValidator.validate(_:)`.
    public init(
        _ source: any ByteSource, definition: AppDefinition, now: Timestamp = SystemClock.now(), limitsMetadata: Bool = true,
        acceptsValues: Bool = false, bufferSizeBytes: Int = 256 << 10
    ) throws(BackupError) {
        let version = definition.otherFormats.isEmpty ? nil : try WireVersionScan.version(in: source, definition: definition)
        let format = version.map { definition.format(ofVersion: $0) } ?? definition
        let reader = WireReader(source, definition: format, bufferSizeBytes: bufferSizeBytes)
        do throws(BackupError) {
            summary = try ImportValidator(
                definition: format, now: now, limitsMetadata: limitsMetadata, acceptsValues: acceptsValues
            ).validate(reader)
            self.reader = reader
        } catch let error where error.code == .invalidContent && format.formatVersions != definition.formatVersions {
            // A later version of the main format, perhaps. If it is not valid as that either, what is wrong with it is told of the format that it
            // says it has.
            let only = definition.withoutOtherFormats
            let main = WireReader(source, definition: only, bufferSizeBytes: bufferSizeBytes)
            let validator = ImportValidator(definition: only, now: now, limitsMetadata: limitsMetadata)
            guard let summary = try? validator.validate(main) else { throw error }
            self.reader = main
            self.summary = summary
        }
    }
}
