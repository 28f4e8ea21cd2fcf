import BackupCore
import Export
import Glibc
import Logging
import SystemIO

/// Takes lines of the log. What it cannot write is lost: a log that cannot be written must not make an operation fail.
enum LogSink: Sendable {
    case file(LineFile, limitBytes: UInt64, oldFileCount: Int)
    /// - otherwise: where it goes while there is no journal, or the journal has no room.
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
