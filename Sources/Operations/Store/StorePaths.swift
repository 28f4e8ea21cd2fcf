import BackupCore
import SystemIO

/// Where everything lies in a store.
public struct StorePaths: Sendable {
    public let root: String

    public init(root: String) { self.root = root }

    var settings: String { "\(root)/store.yaml" }
    /// Which backups are this store's own, and what its repository is.
    var identity: String { "\(root)/identity" }
    /// The definition of an app that is not built in.
    var appDefinition: String { "\(root)/app.yaml" }
    /// Held by whoever runs an operation.
    var operationLock: String { "\(root)/operation.lock" }
    /// Held by whoever has the store mounted.
    public var mountLock: String { "\(root)/mount.lock" }
    /// Where the store is mounted, while the mount lock is held.
    public var mountRecord: String { "\(root)/mountpoint" }
    /// What the background mount has to say.
    public var mountLog: String { "\(root)/mount.log" }
    /// What the running operation does, for other processes.
    var operationRecord: String { "\(root)/operation.json" }
    /// The last operation that failed.
    var lastErrorRecord: String { "\(root)/last-error.json" }
    /// Dropped files, and copies that an operation works on.
    public var spool: String { "\(root)/spool" }
    /// The catalogs of repositories that must not have them beside their packs.
    var catalogs: String { "\(root)/catalog" }
    /// The crash journal of a restore.
    var restoreJournal: String { "\(root)/restore.journal" }
    /// There while a restore goes on whose command `before-restore` has been run, and `after-restore` not yet.
    var hookRecord: String { "\(root)/restore.hook" }
    /// Where the log goes if nothing else is said.
    public var operationLog: String { "\(root)/backupfs.log" }
    /// The operations that have ended, a line each.
    var history: String { "\(root)/history.jsonl" }
    /// What the schedule has done so far.
    var scheduleState: String { "\(root)/schedule.state" }
    /// What was told of automatic backups.
    var noticeState: String { "\(root)/notice.state" }
    var noticeLock: String { "\(root)/notice.lock" }
    /// What the newest backup has to say.
    var backupWarnings: String { "\(root)/backup.warnings" }
    /// Which backup this store has made last.
    var lastBackup: String { "\(root)/last-backup" }
    /// When files were read that have no change time.
    var mediaReadRecord: String { "\(root)/media.read" }
    /// When the files of the app's older versions were migrated.
    var migrationRecord: String { "\(root)/migrated" }
    var restoreReports: String { "\(root)/restore" }
    /// What was copied into the mount's `restore/` and never restored nor refused.
    public var leftFiles: String { "\(restoreReports)/left" }
    /// The last restore that has changed the data, and what takes it back.
    var lastRestore: String { "\(root)/last-restore.json" }
    public var lastRestoreJSON: String { "\(restoreReports)/last.json" }
    public var lastRestoreText: String { "\(restoreReports)/last.txt" }

    /// - Throws: `noRepository` when there is no store; `notPermitted` when it is one that must not be believed: what lies in it names processes,
    ///   mountpoints and files that are used as yours.
    public func requireTrustedStore() throws(BackupError) {
        guard try FileSystem.exists(settings) else { throw Store.notThere(root) }
        try StoreTrust.check(self)
    }

    /// - Throws: `usage` for a path that the store could not write down: it stands in files of lines.
    static func requireOneLine(_ path: String) throws(BackupError) {
        guard path.utf8.contains(10) else { return }
        throw BackupError(
            .usage, "a line feed stands in this path, and neither a store nor a repository can lie there", path: path,
            remedy: "Choose another path, or rename the folder.")
    }

    /// Drafts of files that only the holder of the operation lock replaces.
    func operationDrafts() throws(BackupError) -> [String] {
        let names = [
            restoreJournal, hookRecord, operationRecord, lastErrorRecord, scheduleState, backupWarnings, lastBackup, lastRestore,
            mediaReadRecord, migrationRecord, history,
        ].map(FileSystem.lastComponent)
        return try FileSystem.drafts(of: names, in: root)
            + FileSystem.drafts(of: [lastRestoreJSON, lastRestoreText].map(FileSystem.lastComponent), in: restoreReports)
    }

    /// What the store keeps itself, at its top.
    private var ownPaths: [String] {
        [
            settings, identity, operationLock, mountLock, mountRecord, mountLog, operationRecord, lastErrorRecord, spool,
            catalogs,
            restoreJournal, hookRecord, history, scheduleState, noticeState, noticeLock, backupWarnings, lastBackup, lastRestore,
            mediaReadRecord,
            migrationRecord, restoreReports, appDefinition,
        ]
    }

    /// Whether a file that is none of the store's own may have a place in it.
    /// - Parameter folder: the store's, as `path` has it.
    func allowsOther(_ path: String, in folder: String) -> Bool {
        guard path.hasPrefix("\(folder)/") else { return false }
        let name = path.dropFirst(folder.utf8.count + 1).prefix { $0 != "/" }
        return !ownPaths.contains { FileSystem.lastComponent($0) == name }
    }

    /// A path of the settings, seen from the store.
    func resolve(_ path: String) -> String { FileSystem.absolutePath(path.hasPrefix("/") ? path : "\(root)/\(path)") }
}
