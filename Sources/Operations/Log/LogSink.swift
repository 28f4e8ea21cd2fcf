import BackupCore
import Export
import Glibc
import Logging
import SystemIO

/// Receives log lines. Lines that it cannot write are lost: a failing log must not make an operation fail.
enum LogSink: Sendable {
    case file(RotatingLog, limitBytes: UInt64, oldFileCount: Int)
    /// - otherwise: the destination while there is no journal, or the journal has no space.
    indirect case journal(Journal, otherwise: LogSink)
    case standardError

    func write(_ line: LogLine) {
        switch self {
        case .file(let file, let limitBytes, let oldFileCount):
            try? file.append(line.json, limitBytes: limitBytes, oldFileCount: oldFileCount)
        case .journal(let journal, let otherwise):
            do throws(BackupError) { try journal.write(line.journalFields) } catch { otherwise.write(line) }
        case .standardError:
            let bytes = line.json + [UInt8(ascii: "\n")]
            bytes.withUnsafeBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }
}
