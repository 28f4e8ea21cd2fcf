import BackupCore
import SystemIO

/// The app's media folder, for restores and backups. A restore stages near it under our own name, on the same mount, so that publishing only needs renames.
public enum MediaFolder {
    /// The maximum depth of folders below the media folder.
    public static let depthLimit = 128

    static let stagingPrefix = ".backupfs-staging-"

    /// Whether an entry of the media folder itself is a restore's staging folder: its name must match exactly, with the 32 hexadecimal digits of an
    /// operation. Deeper entries, and all others with that prefix, are the user's.
    public static func isOurs(_ name: FileName) -> Bool {
        name.bytes.starts(with: stagingPrefix.utf8) && RandomToken.isToken(name.bytes.dropFirst(stagingPrefix.utf8.count))
    }

    /// Where a restore can stage the new media, the better place first: beside the media folder, or in it if moves from beside it are impossible, since it is
    /// a separate mount or this program may not write to its parent folder.
    /// - Parameter mediaPath: without links
    static func stagingPaths(of mediaPath: String, operation: String) throws(BackupError) -> [String] {
        let parent = FileSystem.parentPath(mediaPath)
        let isBeside = FileSystem.isWritable(parent) ? try FileSystem.areOnOneMount(mediaPath, parent) : false
        return (isBeside ? [parent, mediaPath] : [mediaPath]).map { "\($0)/\(stagingPrefix)\(operation)" }
    }

    /// A folder for files that a restore must keep, beside its staging folder: `NAME-kept-OPERATION`. Truncates NAME if needed.
    static func keptPath(of mediaPath: String, stagingPath: String) -> String {
        let end = "-kept-\(FileSystem.lastComponent(stagingPath).dropFirst(stagingPrefix.count))"
        var stem = FileSystem.lastComponent(mediaPath)
        while stem.utf8.count + end.utf8.count > FileName.byteCountLimit { stem.removeLast() }
        return "\(FileSystem.parentPath(stagingPath))/\(stem)\(end)"
    }

    static func tooDeep(_ path: String) -> BackupError {
        BackupError(
            .notSupported, "the folder is inside more than \(depthLimit) others", path: MessageText.shortened(path),
            remedy: "Move it up, and try again. Nothing was changed.")
    }
}
