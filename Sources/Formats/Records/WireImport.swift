import AppData
import BackupCore
import SystemIO

/// An export file that was read in its own wire format and found valid.
public struct WireImport: Sendable {
    public let reader: WireReader
    public let summary: ImportSummary

    /// A reader for the wire format that the file declares, whether or not the file is valid.
    public static func reader(of source: any ByteSource, definition: AppDefinition) -> WireReader {
        let version = try? WireVersionScan.version(in: source, definition: definition)
        return WireReader(source, definition: version.flatMap { $0 }.map { definition.format(ofVersion: $0) } ?? definition)
    }

    /// Reads the whole file.
    /// - Parameters:
    ///   - now: the reference for "in the future".
    ///   - limitsMetadata, acceptsValues: as in `ImportValidator`.
    /// - Throws: like `ImportValidator.validate(_:)`.
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
            // Perhaps a later version of the main format. If it is not valid as that either, the error refers to the format that
            // the file declares.
            let only = definition.withoutOtherFormats
            let main = WireReader(source, definition: only, bufferSizeBytes: bufferSizeBytes)
            let validator = ImportValidator(definition: only, now: now, limitsMetadata: limitsMetadata)
            guard let summary = try? validator.validate(main) else { throw error }
            self.reader = main
            self.summary = summary
        }
    }
}

/// Determines the version of a file's wire format before its records are read: members may come in any order.
enum WireVersionScan {
    /// - Returns: `nil` when the file does not declare it, or cannot be read that far: a later full read reports the errors.
    static func version(in source: any ByteSource, definition: AppDefinition) throws(BackupError) -> Int? {
        guard let field = definition.metadata.fields.first(where: { $0.source == .schemaVersion }) else { return nil }
        do throws(BackupError) {
            let tokenizer = JSONTokenizer(source)
            guard try tokenizer.next() == .beginObject else { return nil }
            if !definition.metadata.isInline, try find(definition.metadata.name, tokenizer) != .beginObject { return nil }
            guard try find(field.name, tokenizer) == .number, tokenizer.isInteger
            else { return nil }
            return try tokenizer.withText { (bytes) throws(BackupError) in JSONNumber.integer(bytes).flatMap { Int(exactly: $0) }
            }
        } catch let error where error.code != .inputOutput {
            return nil
        }
    }

    /// Advances to a member of the object that has begun.
    /// - Returns: the first token of its value; `nil` when there is no member of that name.
    private static func find(_ name: String, _ tokenizer: JSONTokenizer) throws(BackupError) -> JSONTokenizer.Token? {
        while try tokenizer.next() == .key {
            let isFound = name.utf8.elementsEqual(tokenizer.text().utf8)
            let token = try tokenizer.next()
            if isFound { return token }
            try tokenizer.skip(token)
        }
        return nil
    }
}
