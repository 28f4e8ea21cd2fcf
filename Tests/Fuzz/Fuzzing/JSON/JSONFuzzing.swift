import BackupCore
import Formats

/// The tokenizer: however it is asked, and in whatever pieces the bytes come, it says the same, and it accepts no more than
/// others do.
enum JSONFuzzing {
    static func run(_ bytes: [UInt8], on ground: FuzzGround) throws -> FuzzOutcome {
        let fields = ground.definitions[0].collections[1].fields
        let expected = JSONReading(bytes, bufferSizeBytes: 256 << 10, pieceSizeBytes: .max, fields: [])
        for (bufferSizeBytes, pieceSizeBytes) in [(64, Int.max), (64, 7), (1 << 10, 100), (256 << 10, .max)] {
            for isShort in [false, true] where isShort || bufferSizeBytes == 64 {
                let other = JSONReading(
                    bytes, bufferSizeBytes: bufferSizeBytes, pieceSizeBytes: pieceSizeBytes, fields: isShort ? fields : [])
                try FuzzViolation.require(
                    other.transcript == expected.transcript && other.error?.findings == expected.error?.findings,
                    "with a buffer of \(bufferSizeBytes), pieces of \(pieceSizeBytes), short way \(isShort): "
                        + "\(other.error?.findings ?? []) instead of \(expected.error?.findings ?? [])")
            }
        }
        if let error = expected.error { return try MessageRules.outcome(error, [.invalidContent]) }
        try FoundationJSON.requireSame(bytes)
        return .accepted
    }
}
