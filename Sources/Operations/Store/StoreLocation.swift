import BackupCore
import SystemIO

/// The store that a command works on.
public enum StoreLocation {
    /// `explicit`, else `$BACKUPFS_STORE`, else `$XDG_DATA_HOME/backupfs`, else `~/.local/share/backupfs`; absolute.
    public static func resolve(_ explicit: String?) throws(BackupError) -> String {
        if let explicit, !explicit.isEmpty { return FileSystem.absolutePath(explicit) }
        if let path = Environment.text("BACKUPFS_STORE") { return FileSystem.absolutePath(path) }
        if let data = Environment.text("XDG_DATA_HOME"), data.hasPrefix("/") { return "\(data)/backupfs" }
        if let home = Environment.text("HOME"), home.hasPrefix("/") { return "\(home)/.local/share/backupfs" }
        throw BackupError(
            .usage, "no store is named and there is no home folder to find the default one in", remedy: "Give --store DIR.")
    }

    /// Whether there is a store at a path, or something that cannot be examined.
    public static func hasStore(_ path: String) -> Bool { (try? FileSystem.exists(StorePaths(root: path).settings)) != false }
}
