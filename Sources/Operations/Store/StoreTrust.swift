import BackupCore
import Glibc
import SystemIO

/// Whether a store can be trusted. Its settings name commands that are run, and a database and a folder that are overwritten: write access to them gives the
/// rights of the user who opens the store. So they must belong to the user or to root; a store that another user left in `/tmp` is not opened.
enum StoreTrust {
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

    /// The user, root, and for root the user who became root by sudo(8): they could have gained anyway what the store could give them.
    private static var owners: Set<UInt32> {
        var owners: Set<UInt32> = [0, geteuid()]
        if geteuid() == 0, let user = Environment.text("SUDO_UID").flatMap({ UInt32($0) }) { owners.insert(user) }
        return owners
    }

    private static func isNamed(_ store: String) -> Bool {
        (Environment.text(variable) ?? "").split(separator: ":").contains { FileSystem.absolutePath(String($0)) == store }
    }
}
