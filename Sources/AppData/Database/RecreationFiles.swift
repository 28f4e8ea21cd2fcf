import BackupCore
import Glibc
import SystemIO

/// The files beside a lost database while a restore recreates it: the draft that becomes the database, and the logs of the lost one, which are set aside. A
/// crash leaves them there, so a restore records their names first.
public struct RecreationFiles: Sendable {
    enum Way: UInt8 {
        /// A draft is renamed to the database.
        case draft = 0x64
        /// The empty file is filled.
        case fill = 0x66
        /// An empty file is created, or stays.
        case empty = 0x65
    }

    let databasePath: String
    let way: Way
    let draft: FileName
    /// The names of `DatabaseLogs.names` while set aside, in the same order.
    let logsAside: [FileName]

    init(databasePath: String, way: Way, draft: FileName, logsAside: [FileName]) {
        self.databasePath = databasePath
        self.way = way
        self.draft = draft
        self.logsAside = logsAside
    }

    /// The recorded form; for the same version of this program.
    public var bytes: [UInt8] {
        Array(([Array(databasePath.utf8), [way.rawValue], draft.bytes] + logsAside.map(\.bytes)).joined(separator: [0]))
    }

    /// - Parameter bytes: a crash may have truncated them.
    public init?(bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
        guard parts.count > 3, let wayByte = parts[1].first, let way = Way(rawValue: wayByte) else { return nil }
        let names = parts[2...].map { FileName(bytes: Array($0)) }
        guard names.allSatisfy(LostPlace.isDraft) else { return nil }
        self.init(
            databasePath: String(decoding: parts[0], as: UTF8.self), way: way, draft: names[0], logsAside: Array(names[1...]))
    }

    /// Whether the database exists, and is the backup's.
    public func haveBecome(_ database: AppDatabase) -> Bool {
        guard way != .empty, (try? database.isLost()) == false else { return false }
        return way == .fill || (try? FileSystem.look("\(FileSystem.parentPath(databasePath))/\(draft)")) == .some(nil)
    }

    /// Cleans up after a crash: removes the draft, and gives logs their names back. Beside a database, logs are removed if they are empty and not in use,
    /// and otherwise left alone.
    public func clearAway() {
        guard let place = try? LostPlace(databasePath, logsAside: logsAside) else { return }
        if let status = try? place.folder.status(draft), status.kind == .regular { try? place.folder.removeFile(draft) }
        place.putBackLogs()
    }
}
