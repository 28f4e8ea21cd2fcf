import BackupCore
import Glibc
import SystemIO

/// Whether a store may be believed. Its settings name commands that are run, a database and a folder that are overwritten: whoever can write them
/// can do what the user can who opens the store. So they must be the user's own, or root's; what somebody left in `/tmp` is not opened.
enum StoreTrust {
    /// Paths of stores of other users that are opened all the same, with colons between them.
    static let variable = "BACKUPFS_TRUSTED_STORES"

    /// - Throws: `notPermitted` when the store or its settings belong to somebody else, or everybody may write to them.
    static func check(_ paths: StorePaths) throws(BackupError) {
        try checkOwners(paths)
        if let folder = try FileSystem.look(paths.root) { NewFileOwner.follow(folder) }
    }

    private static func checkOwners(_ paths: StorePaths) throws(BackupError) {
        guard !isNamed(paths.root) else { return }
        // Nobody may ask stat(2) of what a link in an untrusted folder leads to, so the folder comes first.
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

    /// The user, root, and for root the user who has become root by sudo(8): he could have given himself whatever the store would give him.
    private static var owners: Set<UInt32> {
        var owners: Set<UInt32> = [0, geteuid()]
        if geteuid() == 0, let user = Environment.text("SUDO_UID").flatMap({ UInt32($0) }) { owners.insert(user) }
        return owners
    }

    private static func isNamed(_ store: String) -> Bool {
        (Environment.text(variable) ?? "").split(separator: ":").contains { FileSystem.absolutePath(String($0)) == store }
    }
}
