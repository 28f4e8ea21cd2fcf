import BackupCore
import Glibc
import SystemIO

/// The place of a lost database, and the empty logs that it may have left there. A program that had the database open still has them: what it commits goes
/// into them, and would be read as part of a database that is put beside them.
struct LostPlace {
    /// For a program that only looks, such as another backupfs.
    private static let patienceNanoseconds: UInt64 = 1_000_000_000

    let folder: FolderHandle
    let name: FileName
    private let path: String

    /// - Parameter realPath: without links; its folder is there.
    init(_ realPath: String) throws(BackupError) {
        path = realPath
        folder = try FolderHandle(path: FileSystem.realPath(FileSystem.parentPath(realPath)))
        name = FileName(FileSystem.lastComponent(realPath))
    }

    /// A name as staged media have it, which backups leave out: the database may lie among the media, and a crash leaves the file there.
    static func draftName() -> FileName { FileName(".backupfs-staging-\(RandomToken.make())") }

    /// Runs `body`, which puts a database here, while no log has the name of one of its logs. Those that were there are moved aside and not emptied, so that
    /// nothing is taken from a program that still writes to one; they are removed once the database is there and none of them is in use. After an error they
    /// have their names again; after a crash the database is lost as before.
    /// - Throws: `busy` while a program has the lost database open; `alreadyExists` when there are data in a log; what `body` throws.
    func withoutLogs(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        let names = DatabaseLogs.names(of: name)
        try requireUnused(names)
        var moved: [(name: FileName, aside: FileName)] = []
        do throws(BackupError) {
            for name in names {
                guard try folder.status(name) != nil else { continue }
                try requireEmpty(name, called: name)
                let aside = Self.draftName()
                try folder.move(name, to: folder, as: aside)
                moved.append((name, aside))
            }
            // Before the database gets its name: after a crash it must not lie beside them.
            if !moved.isEmpty { try folder.synchronize() }
            for file in moved { try requireEmpty(file.aside, called: file.name) }
            try requireUnused(moved.map(\.aside))
            for name in names where try folder.status(name) != nil { throw inUse }
            try FaultInjection.reached("lost.logs-aside")
            try body()
        } catch {
            putBack(moved)
            throw error
        }
        for file in moved where mayRemove(file.aside, called: file.name) { try? folder.removeFile(file.aside) }
    }

    /// Not beside a database that a program has made meanwhile.
    private func putBack(_ moved: [(name: FileName, aside: FileName)]) {
        let isMade = (try? folder.status(name))?.map { $0.kind != .regular || $0.size > 0 } ?? false
        for file in moved.reversed() {
            if isMade, mayRemove(file.aside, called: file.name) {
                try? folder.removeFile(file.aside)
            } else {
                try? folder.move(file.aside, to: folder, as: file.name)
            }
        }
        try? folder.synchronize()
    }

    private func mayRemove(_ file: FileName, called name: FileName) -> Bool {
        (try? requireEmpty(file, called: name)) != nil && !folder.isLocked(file)
    }

    /// The index of a log holds nothing of its own.
    private func requireEmpty(_ file: FileName, called name: FileName) throws(BackupError) {
        guard let status = try folder.status(file) else { return }
        guard status.kind == .regular, status.size == 0 || !DatabaseLogs.isLog(name.bytes) else {
            throw OrphanedLog.error("\(folder.path)/\(name)")
        }
    }

    /// Each program that has a database with a log open holds a lock on the index of the log for as long (SQLite's "dead man switch").
    private func requireUnused(_ files: [FileName]) throws(BackupError) {
        let end = SystemClock.monotonicNanoseconds() + Self.patienceNanoseconds
        while files.contains(where: { folder.isLocked($0) }) {
            guard SystemClock.monotonicNanoseconds() < end else { throw inUse }
            try Cancellation.check()
            usleep(20_000)
        }
    }

    private var inUse: BackupError {
        BackupError(
            .busy, "a program still has the lost database open", path: path,
            remedy: "Stop the app first, and restore again: what it writes would damage the restored database.")
    }
}
