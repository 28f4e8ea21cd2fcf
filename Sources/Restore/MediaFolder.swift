import BackupCore
import SystemIO

/// The app's media folder, as restores and backups treat it. What a restore stages lies near it under a name of ours, on the same mount, so that
/// publishing it is nothing but renaming.
public enum MediaFolder {
    /// Folders within one another, below the media folder.
    public static let depthLimit = 128

    static let stagingPrefix = ".backupfs-staging-"

    /// Whether an entry of the media folder itself is a folder that a restore stages in: by exactly the name that one gets, with the 32 hexadecimal digits
    /// of an operation. What lies deeper, and all else that begins so, is the user's.
    public static func isOurs(_ name: FileName) -> Bool {
        name.bytes.starts(with: stagingPrefix.utf8) && RandomToken.isToken(name.bytes.dropFirst(stagingPrefix.utf8.count))
    }

    /// Where a restore can stage the new media, the better place first: beside their folder, or in it where nothing can be moved from beside it, since it
    /// is a disk of its own or lies in a folder that this program may not write to.
    /// - Parameter mediaPath: without links.
    static func stagingPaths(of mediaPath: String, operation: String) throws(BackupError) -> [String] {
        let parent = FileSystem.parentPath(mediaPath)
        let isBeside = FileSystem.isWritable(parent) ? try FileSystem.areOnOneMount(mediaPath, parent) : false
        return (isBeside ? [parent, mediaPath] : [mediaPath]).map { "\($0)/\(stagingPrefix)\(operation)" }
    }

    /// A folder for what a restore must keep, beside its staging folder: `NAME-kept-OPERATION`. A name that is too long for that loses its end.
    static func keptPath(of mediaPath: String, stagingPath: String) -> String {
        let end = "-kept-\(FileSystem.lastComponent(stagingPath).dropFirst(stagingPrefix.count))"
        var stem = FileSystem.lastComponent(mediaPath)
        while stem.utf8.count + end.utf8.count > FileName.byteCountLimit { stem.removeLast() }
        return "\(FileSystem.parentPath(stagingPath))/\(stem)\(end)"
    }

    static func tooDeep(_ path: String) -> BackupError {
        BackupError(
            .notSupported, "the folder lies in more than \(depthLimit) others", path: MessageText.shortened(path),
            remedy: "Move it up, and try again. Nothing was changed.")
    }
}
