import BackupCore
import Formats
import SystemIO

/// The files of one report.
struct ReportTarget {
    private let folder: String
    private let name: String
    /// Whether the files are for the user of this program alone, and replace earlier ones.
    private let isPrivate: Bool

    /// In the record of a job.
    init(folder: String, name: String) throws(BackupError) {
        (self.folder, self.name, isPrivate) = (folder, name, true)
        try FileSystem.makeDirectories(folder)
    }

    /// Where a person wants them: nothing that is there is replaced.
    init(folder: String, prefix: String, time: Timestamp) throws(BackupError) {
        let stamp = ISO8601.format(time.wholeSeconds).map { $0 == ":" ? "-" : String($0) }.joined()
        (self.folder, name, isPrivate) = (folder, "\(prefix)_\(stamp)", false)
        try FileSystem.makeDirectories(folder, permissions: 0o755)
    }

    /// Writes a file completely, or not at all.
    /// - Returns: its path.
    func write(_ format: ReportFormat, _ body: (DraftFile) throws(BackupError) -> Void) throws(BackupError) -> String {
        for number in 1...1_000 {
            let path = "\(folder)/\(name)\(number == 1 ? "" : "-\(number)").\(format.rawValue)"
            if !isPrivate, try FileSystem.exists(path) { continue }
            let file = try DraftFile(path, permissions: isPrivate ? 0o600 : 0o644)
            do throws(BackupError) {
                try body(file)
                if isPrivate { try file.finish() } else { try file.finishAsNew() }
                return path
            } catch {
                file.discard()
                // Another program was faster.
                guard error.code == .alreadyExists else { throw error }
            }
        }
        throw BackupError(
            .alreadyExists, "there are reports of this second already", path: folder, remedy: "Make the report once more.")
    }
}
