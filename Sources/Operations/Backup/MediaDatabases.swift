import AppData
import BackupCore
import Glibc
import SystemIO

/// SQLite databases among the media files of one folder that have a log beside them: an app may be writing to them. File by file, database and
/// log would be of two moments. They are copied through SQLite, and their logs are in the copies.
struct MediaDatabases {
    private static let logSuffixes = ["-wal", "-journal"]
    private static let suffixes = logSuffixes + ["-shm"]

    private var logs: [FileName: [FileName]] = [:]
    private var allLogs: Set<FileName> = []

    init(among names: [FileName], in folder: borrowing DirectoryReader) {
        var candidates: [FileName: [FileName]] = [:]
        for name in names {
            guard let suffix = Self.suffixes.first(where: { name.bytes.count > $0.utf8.count && name.bytes.hasSuffix($0) }) else {
                continue
            }
            candidates[FileName(bytes: Array(name.bytes.dropLast(suffix.utf8.count))), default: []].append(name)
        }
        guard !candidates.isEmpty else { return }
        for name in names {
            guard let companions = candidates[name],
                companions.contains(where: { companion in Self.logSuffixes.contains { companion.bytes.hasSuffix($0) } }),
                Self.isDatabase(name, in: folder)
            else { continue }
            logs[name] = companions
            allLogs.formUnion(companions)
        }
    }

    private static func isDatabase(_ name: FileName, in folder: borrowing DirectoryReader) -> Bool {
        guard let file = try? folder.openFile(name) else { return false }
        return (try? file.readExactly(at: 0, count: SQLiteHeader.magic.count)) == SQLiteHeader.magic
    }

    /// Whether it is a database with a log.
    func hasLog(_ name: FileName) -> Bool { logs[name] != nil }

    /// Whether it belongs to a database.
    func isLog(_ name: FileName) -> Bool { allLogs.contains(name) }

    func logs(of name: FileName) -> [FileName] { logs[name] ?? [] }

    /// - Parameter destination: must not exist.
    /// - Throws: `busy` when another program keeps it locked; `damagedContent`, … for what SQLite cannot read.
    static func copy(
        _ name: FileName, in folder: borrowing DirectoryReader, to destination: String
    ) throws(BackupError) {
        // A path that is not UTF-8 cannot be handed over.
        guard let text = String(validating: name.bytes, as: UTF8.self) else {
            throw BackupError(.notSupported, "its name is not UTF-8", path: "\(folder.path)/\(name)")
        }
        try DatabaseFile.copy("/proc/self/fd/\(folder.descriptor.rawValue)/\(text)", to: destination)
    }
}

extension [UInt8] {
    fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
