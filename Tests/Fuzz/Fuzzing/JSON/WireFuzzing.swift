import AppData
import BackupCore
import Formats

/// An app's export: the same with every buffer, the first time and the second.
enum WireFuzzing {
    static func run(_ bytes: [UInt8], on ground: FuzzGround) throws -> FuzzOutcome {
        guard let first = bytes.first else { return .refused(.invalidContent) }
        let definition = ground.definition(first)
        let document = Array(bytes.dropFirst())
        let expected = try reading(document, definition, ground, bufferSizeBytes: 256 << 10, pieceSizeBytes: .max)
        for (bufferSizeBytes, pieceSizeBytes) in [(64, Int.max), (64, 5), (500, 99)] {
            let other = try reading(
                document, definition, ground, bufferSizeBytes: bufferSizeBytes, pieceSizeBytes: pieceSizeBytes)
            try FuzzViolation.require(
                other.text == expected.text, "with a buffer of \(bufferSizeBytes): \(other.text) instead of \(expected.text)")
        }
        if expected.outcome == .accepted { try FoundationJSON.requireSame(document) }
        return expected.outcome
    }

    private static func reading(
        _ document: [UInt8], _ definition: AppDefinition, _ ground: FuzzGround, bufferSizeBytes: Int, pieceSizeBytes: Int
    ) throws -> (outcome: FuzzOutcome, text: String) {
        do {
            let file = try WireImport(
                WatchedSource(document, pieceSizeBytes: pieceSizeBytes), definition: definition, now: ground.now,
                bufferSizeBytes: bufferSizeBytes)
            try MessageRules.require(warnings: file.summary.warnings)
            let visitor = RecordTranscript()
            try file.reader.visit(with: visitor)
            try FuzzViolation.require(
                file.summary.recordCounts.reduce(0, +) == visitor.recordCount,
                "\(file.summary.recordCounts) records the first time, \(visitor.recordCount) the second")
            let summary = file.summary
            return (
                .accepted,
                "\(summary.counts) \(summary.schemaVersion) \(summary.warnings) \(summary.metadata.sorted { $0.key < $1.key }) "
                    + "\(summary.unknownFields.sorted { $0.key < $1.key }) \(visitor.text)"
            )
        } catch let error as BackupError {
            return (
                try MessageRules.outcome(error, [.invalidContent, .unsupportedVersion]), "\(error.message) \(error.findings)"
            )
        }
    }
}
