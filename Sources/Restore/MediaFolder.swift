import BackupCore
import SystemIO

/// The app's media folder, as restores and backups treat it. What a restore stages lies beside it under a name of ours, on the same file
/// system, so that publishing it is one rename.
public enum MediaFolder {
    static let stagingPrefix = ".backupfs-staging-"

    /// Whether an entry belongs to this program and not to the app.
    public static func isOurs(_ name: FileName) -> Bool { name.description.hasPrefix(stagingPrefix) }

    /// Where a restore stages the new media folder.
    static func stagingPath(of mediaPath: String, operation: String) -> String {
        "\(FileSystem.parentPath(mediaPath))/\(stagingPrefix)\(operation)"
    }
}
