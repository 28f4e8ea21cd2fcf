import BackupCore
import Restore
import SystemIO

/// The journal of an interrupted restore: what is read from it is what would be written again.
enum JournalFuzzing {
    /// - Parameter bytes: the journal without its CRC, which no change of bytes would hit; whole when they begin with a zero.
    static func run(_ bytes: [UInt8]) throws -> FuzzOutcome {
        let isWhole = bytes.first == 0
        let journal = isWhole ? Array(bytes.dropFirst()) : bytes + withUnsafeBytes(of: CRC32.of(bytes).littleEndian) { Array($0) }
        do {
            let found = try RestoreJournal.decode(journal)
            let again = try RestoreJournal.decode(found.encoded())
            try FuzzViolation.require(found == again, "\(found) became \(again)")
            return .accepted
        } catch let error as BackupError {
            return try MessageRules.outcome(error, [.repositoryDamaged, .unsupportedVersion])
        }
    }
}
