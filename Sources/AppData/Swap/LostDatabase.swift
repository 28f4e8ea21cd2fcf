import BackupCore
import Glibc
import SystemIO

extension AppDatabase {
    /// Whether the app has lost it: it is missing, or it is the empty file that SQLite creates when a program looks for a missing
    /// database.
    /// - Throws: when that cannot be determined: the path may be a link to a disk that is not mounted.
    public func isLost() throws(BackupError) -> Bool {
        guard let status = try FileSystem.lookBehindLinks(path) else { return true }
        guard status.kind == .regular, status.size == 0 else { return false }
        // A log may contain data that SQLite has not written into the database yet.
        return try OrphanedLog.path(ofDatabase: realPath()) == nil
    }

    /// - Throws: `alreadyExists` when a log of the lost database exists: it may be all that is left of the data.
    public func requireNoLogOfLost() throws(BackupError) { try OrphanedLog.requireNone(ofLostDatabase: realPath()) }

    /// Whether a copy of a database could replace this one: it is undamaged, and has what the app's definition requires.
    public func canBeRecreated(from copy: String) -> Bool {
        guard (try? DroppedDatabase.damage(ofCopy: copy)) == .some(nil) else { return false }
        return (try? AppDatabase(opening: copy, definition: definition)) != nil
    }

    /// Recreates a lost database from a copy of it: its tables, whether or not the definition names them, with indexes, views,
    /// triggers and version numbers. Durable when it returns; after an error or a crash the database is lost as before.
    /// - Parameters:
    ///   - copy: a database without a log that no other program has open.
    ///   - note: called first, with the files that a crash may leave beside the database.
    /// - Throws: `busy` when another program has created the database meanwhile, which is in no backup, or still has the lost one
    ///   open.
    public func recreate(
        from copy: String, noting note: (RecreationFiles) throws(BackupError) -> Void
    ) throws(BackupError) {
        let place = try LostPlace(realPath())
        guard let file = try FileSystem.lookBehindLinks(path) else { return try put(copy, in: place, note) }
        guard try isLost() else { throw madeMeanwhile }
        try note(place.files(.fill))
        try place.withoutLogs { () throws(BackupError) in
            // A program may have the empty file open, so it stays the same file.
            try DatabaseSwap(path: path, busyTimeoutSeconds: busyTimeoutSeconds).publish(
                copy, { () throws(BackupError) in try FaultInjection.reached("lost.database-copied") },
                // A database with a log is not a lost one.
                { (_) throws(BackupError) in throw madeMeanwhile },
                { () throws(BackupError) in
                    // No other program can write now. The journal belongs to this transaction.
                    guard let now = try FileSystem.lookBehindLinks(path), FileIdentity(now) == FileIdentity(file), now.size == 0,
                        try (FileSystem.look(realPath() + "-wal")?.size ?? 0) == 0
                    else { throw madeMeanwhile }
                })
        }
    }

    private func put(
        _ copy: String, in place: LostPlace, _ note: (RecreationFiles) throws(BackupError) -> Void
    ) throws(BackupError) {
        let draft = LostPlace.draftName()
        let source = try SharedFile(path: copy)
        try note(place.files(.draft, draft: draft))
        do {
            let file = try make(draft, in: place.folder)
            try source.copy(source.size, to: file, named: path)
            try file.synchronize()
            try FaultInjection.reached("lost.database-copied")
            try place.withoutLogs { () throws(BackupError) in
                try refusingPresent { () throws(BackupError) in try place.folder.move(draft, to: place.folder, as: place.name) }
                try place.folder.synchronize()
            }
        } catch {
            try? place.folder.removeFile(draft)
            throw error
        }
        try place.folder.synchronize()
    }

    /// Creates the empty file of a lost database if it is missing, and removes empty logs. An empty file is an empty database.
    /// - Parameter note: as for `recreate`.
    /// - Throws: `busy`, like `recreate`.
    public func makeEmpty(noting note: (RecreationFiles) throws(BackupError) -> Void) throws(BackupError) {
        let place = try LostPlace(realPath())
        guard try isLost() else { throw madeMeanwhile }
        try note(place.files(.empty))
        try place.withoutLogs { () throws(BackupError) in
            guard try !exists() else { return }
            try refusingPresent { () throws(BackupError) in _ = try make(place.name, in: place.folder) }
        }
        try place.folder.synchronize()
    }

    /// Creates a new file, only if there is none. Its folder is the best hint for the lost file's mode: the app may access its
    /// data through its group. Other users get no access, since the lost one may have been private.
    private func make(_ name: FileName, in folder: DirectoryHandle) throws(BackupError) -> OwnedDescriptor {
        let file = try folder.createFile(name, permissions: 0o600)
        NewFileOwner.giveToOwnerOfFolder(file.path)
        let place = try folder.descriptor.status()
        var group: mode_t = 0o070
        if try file.status().group != place.group, !file.giveToGroup(place.group) { group = 0 }
        let allowed = (0o600 | group) & ~DirectoryHandle.creationMask
        try file.setPermissions(0o600 | mode_t(place.mode) & 0o666 & allowed)
        return file
    }

    private func refusingPresent(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        do throws(BackupError) {
            try body()
        } catch {
            throw error.code == .alreadyExists ? madeMeanwhile : error
        }
    }

    /// The error when a lost database exists again.
    public var madeMeanwhile: BackupError { LostPlace.madeMeanwhile(path) }
}

/// The files beside a lost database while a restore recreates it: the draft that becomes the database, and the logs of the lost
/// one, which are set aside. A crash leaves them there, so a restore records their names first.
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

    /// Cleans up after a crash: removes the draft, and gives logs their names back. Beside a database, logs are removed if they
    /// are empty and not in use, and otherwise left alone.
    public func clearAway() {
        guard let place = try? LostPlace(databasePath, logsAside: logsAside) else { return }
        if let status = try? place.folder.statusIfPresent(draft), status.kind == .regular { try? place.folder.removeFile(draft) }
        place.putBackLogs()
    }
}
