import BackupCore
import Glibc
import SystemIO

/// The paths in a store.
public struct StorePaths: Sendable {
    /// The store's folder; absolute.
    public let root: String

    public init(root: String) { self.root = root }

    var settings: String { "\(root)/store.yaml" }
    /// Identifies this store's own backups, and its repository.
    var identity: String { "\(root)/identity" }
    /// The definition of an app that is not built in.
    var appDefinition: String { "\(root)/app.yaml" }
    /// Held by the process that runs an operation.
    var operationLock: String { "\(root)/operation.lock" }
    /// Held by the process that has the store mounted.
    public var mountLock: String { "\(root)/mount.lock" }
    /// The mountpoint, while the mount lock is held.
    public var mountRecord: String { "\(root)/mountpoint" }
    /// How many requests the mount has answered, while the mount lock is held.
    public var requestRecord: String { "\(root)/mount.requests" }
    /// Output of a mount in the background.
    public var mountLog: String { "\(root)/mount.log" }
    /// The activity of the running operation, for other processes.
    var operationRecord: String { "\(root)/operation.json" }
    /// The last operation that failed.
    var lastErrorRecord: String { "\(root)/last-error.json" }
    /// Dropped files, and copies that an operation works on.
    public var spool: String { "\(root)/spool" }
    /// The catalogs of repositories that must not have them beside their packs.
    var catalogs: String { "\(root)/catalog" }
    /// What is known of the newest backup's collections (`RenderedRows`).
    var renderedRows: String { "\(root)/rendered" }
    /// The sizes of exports that are rendered for the mount.
    var renderedExports: String { "\(root)/rendered-exports" }
    /// The crash journal of a restore.
    var restoreJournal: String { "\(root)/restore.journal" }
    /// Exists during a restore after its command `before-restore` was started, until `after-restore` has run.
    var hookRecord: String { "\(root)/restore.hook" }
    /// What is known of each remote. It may be lost.
    var remotes: String { "\(root)/remotes" }
    /// The folder for what is known of a remote; it need not exist.
    public func remote(_ name: String) -> String { "\(remotes)/\(name)" }
    /// What was read of the repository in a remote. It may be removed at any time.
    func remoteCache(_ name: String) -> String { "\(remote(name))/cache" }
    /// What a remote's server can do.
    func remoteCapabilities(_ name: String) -> String { "\(remote(name))/capabilities" }
    /// What the exchange with other devices needs, and the values that lost.
    var deviceSync: String { "\(root)/device-sync" }
    /// Stars, and the queue of photos that are to be uploaded.
    public var photos: String { "\(root)/photos" }
    /// The folders of the jobs of `backupfs copy`.
    public var jobs: String { "\(root)/jobs" }
    /// The default log file.
    public var operationLog: String { "\(root)/backupfs.log" }
    /// Finished operations, one per line.
    var history: String { "\(root)/history.jsonl" }
    /// A report of each of the last operations.
    var operationReports: String { "\(root)/reports" }
    /// The state of the schedule.
    var scheduleState: String { "\(root)/schedule.state" }
    /// The state of notices about automatic backups.
    var noticeState: String { "\(root)/notice.state" }
    var noticeLock: String { "\(root)/notice.lock" }
    /// The warnings of the newest backup.
    var backupWarnings: String { "\(root)/backup.warnings" }
    /// The last backup made by this store.
    var lastBackup: String { "\(root)/last-backup" }
    /// When files without change times were last read.
    var mediaReadRecord: String { "\(root)/media.read" }
    /// When the files of older app versions were migrated.
    var migrationRecord: String { "\(root)/migrated" }
    var restoreReports: String { "\(root)/restore" }
    /// Files that were copied into the mount's `restore/` and neither restored nor refused.
    public var leftFiles: String { "\(restoreReports)/left" }
    /// The last restore that changed the data, and the backup that undoes it.
    var lastRestore: String { "\(root)/last-restore.json" }
    /// The report of the last restore, for programs.
    public var lastRestoreJSON: String { "\(restoreReports)/last.json" }
    /// The report of the last restore, for people.
    public var lastRestoreText: String { "\(restoreReports)/last.txt" }

    /// - Throws: `noRepository` when there is no store; `notPermitted` when it must not be trusted: its files name processes,
    ///   mountpoints and files that are used with your rights.
    public func requireTrustedStore() throws(BackupError) {
        guard try FileSystem.exists(settings) else { throw Store.notThere(root) }
        try StoreTrust.check(self)
    }

    /// The app's media folder, absolute; `nil` for an app without one. For commands that do not open the store.
    /// - Throws: `notPermitted` for a store of another user, as `requireTrustedStore`.
    public func mediaFolder() throws(BackupError) -> String? {
        try requireTrustedStore()
        return try StoreSettings.read(settings).mediaPath.map { resolve($0) }
    }

    /// The language of the store's texts, as `Store.language`, for commands that do not open it.
    public var language: Language { (try? StoreSettings.read(settings).language) ?? .ofEnvironment() }

    /// - Throws: `usage` for a path that the store could not record, since it is stored in line-based files.
    static func requireOneLine(_ path: String) throws(BackupError) {
        guard path.utf8.contains(10) else { return }
        throw BackupError(
            .usage, "this path has a line feed in it, so it cannot hold a store or a repository", path: path,
            remedy: "Choose another path, or rename the folder.")
    }

    /// Drafts of files that only the holder of the operation lock replaces, and of reports: one that another process is writing
    /// is lost, which its operation survives.
    func operationDrafts() throws(BackupError) -> [String] {
        let names = [
            restoreJournal, hookRecord, operationRecord, lastErrorRecord, scheduleState, backupWarnings, lastBackup, lastRestore,
            mediaReadRecord, migrationRecord, history,
        ].map(FileSystem.lastComponent)
        // A folder of reports that cannot be read must not keep the store from being opened.
        let reports = (try? FileSystem.names(in: operationReports).map(\.description)) ?? []
        return try FileSystem.drafts(of: names, in: root)
            + reports.filter { $0.contains(FileSystem.draftMark) }.map { "\(operationReports)/\($0)" }
            + FileSystem.drafts(of: [lastRestoreJSON, lastRestoreText].map(FileSystem.lastComponent), in: restoreReports)
    }

    /// The store's own top-level entries.
    private var ownPaths: [String] {
        [
            settings, identity, operationLock, mountLock, mountRecord, requestRecord, mountLog, operationRecord, lastErrorRecord,
            spool,
            catalogs, renderedRows, renderedExports,
            restoreJournal, hookRecord, history, scheduleState, noticeState, noticeLock, backupWarnings, lastBackup, lastRestore,
            mediaReadRecord,
            migrationRecord, restoreReports, appDefinition, remotes,
            deviceSync, photos, jobs, operationReports,
        ]
    }

    /// Whether a file that is not the store's may be in it.
    /// - Parameter folder: the store's folder, in the same form as `path`.
    func allowsOther(_ path: String, in folder: String) -> Bool {
        guard path.hasPrefix("\(folder)/") else { return false }
        let name = path.dropFirst(folder.utf8.count + 1).prefix { $0 != "/" }
        return !ownPaths.contains { FileSystem.lastComponent($0) == name }
    }

    /// Resolves a path from the settings relative to the store.
    func resolve(_ path: String) -> String { FileSystem.absolutePath(path.hasPrefix("/") ? path : "\(root)/\(path)") }
}

/// Whether a store can be trusted. Its settings name commands that are run, and a database and a folder that are overwritten:
/// write access to them gives the rights of the user who opens the store. So they must belong to the user or to root; a store
/// that another user left in `/tmp` is not opened.
public enum StoreTrust {
    /// Paths of other users' stores that are opened regardless, separated by colons.
    static let variable = "BACKUPFS_TRUSTED_STORES"

    /// - Throws: `notPermitted` when the store or its settings belong to another user, or all users may write to them.
    static func check(_ paths: StorePaths) throws(BackupError) {
        try checkOwners(paths)
        if let folder = try FileSystem.look(paths.root) { NewFileOwner.follow(folder) }
    }

    private static func checkOwners(_ paths: StorePaths) throws(BackupError) {
        guard !isNamed(paths.root) else { return }
        // stat(2) must not be called on the target of a link in an untrusted folder, so the folder comes first.
        for path in [paths.root, paths.settings] {
            guard let status = try FileSystem.look(path) else { continue }
            try check(status, path, store: paths.root)
        }
        guard try FileSystem.look(paths.settings)?.kind == .regular else {
            throw BackupError(.invalidContent, "the settings are not a file", path: paths.settings, remedy: "Remove it.")
        }
    }

    private static func check(_ status: FileStatus, _ path: String, store: String) throws(BackupError) {
        guard owners.contains(status.owner) else {
            throw BackupError(
                .notPermitted,
                "this belongs to another user (\(status.owner)), and a store's settings name commands and files that are used as yours",
                path: path,
                remedy: "Run this as that user. If you trust what is in it, name it: \(variable)=\(store)")
        }
        guard status.mode & 0o002 == 0 else {
            throw BackupError(
                .notPermitted, "everybody may write to it, and so have commands run as you", path: path,
                remedy: "Look at what is in it, then: chmod o-w \(path)")
        }
    }

    /// The user, root, and for root the user who became root by sudo(8): they could have gained anyway what the store could give
    /// them.
    private static var owners: Set<UInt32> {
        var owners: Set<UInt32> = [0, geteuid()]
        if geteuid() == 0, let user = Environment.text("SUDO_UID").flatMap({ UInt32($0) }) { owners.insert(user) }
        return owners
    }

    /// Whether a user's files and mounts are trusted: the user's own, those of root, and for root those of the user who became
    /// root by sudo(8).
    public static func isTrusted(userID: UInt32) -> Bool { owners.contains(userID) }

    private static func isNamed(_ store: String) -> Bool {
        (Environment.text(variable) ?? "").split(separator: ":").contains { FileSystem.absolutePath(String($0)) == store }
    }
}

/// The store that a command works on.
public enum StoreLocation {
    /// `explicit`, else `$BACKUPFS_STORE`, else `$XDG_DATA_HOME/backupfs`, else `~/.local/share/backupfs`; absolute.
    public static func resolve(_ explicit: String?) throws(BackupError) -> String {
        if let explicit, !explicit.isEmpty { return FileSystem.absolutePath(explicit) }
        if let path = Environment.text("BACKUPFS_STORE") { return FileSystem.absolutePath(path) }
        if let data = Environment.text("XDG_DATA_HOME"), data.hasPrefix("/") { return "\(data)/backupfs" }
        if let home = Environment.text("HOME"), home.hasPrefix("/") { return "\(home)/.local/share/backupfs" }
        throw BackupError(
            .usage, "no store is named, and without a home folder there is no default one", remedy: "Give --store DIR.")
    }

    /// Whether there is a store at a path, or something that cannot be examined.
    public static func hasStore(_ path: String) -> Bool { (try? FileSystem.exists(StorePaths(root: path).settings)) != false }
}

extension Store {
    /// The folders and files of the store at `path` according to its settings, in the order in which it opens them. Does not open
    /// the store.
    public static func places(of path: String) -> [String] {
        let paths = StorePaths(root: path)
        guard let settings = try? StoreSettings.read(paths.settings) else { return [path] }
        return [path, settings.repositoryFolder(in: paths)]
            + [settings.databasePath, settings.mediaPath].compactMap { $0.map(paths.resolve) }
    }
}
