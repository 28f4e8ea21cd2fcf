import BackupCore
import SystemIO

/// The app's media folder, as restores and backups treat it. What a restore stages lies near it under a name of ours, on the same mount, so that
/// publishing it is nothing but renaming.
public enum MediaFolder {
    /// Folders within one another, below the media folder.
    public static let depthLimit = 128

    static let stagingPrefix = ".backupfs-staging-"

    /// Whether an entry belongs to this program and not to the app.
    public static func isOurs(_ name: FileName) -> Bool { name.bytes.starts(with: stagingPrefix.utf8) }

    /// Where a restore stages the new media: beside their folder, or in it where nothing can be moved from beside it, since it is a disk of its own
    /// or lies in a folder that this program may not write to.
    /// - Parameter mediaPath: without links.
    static func stagingPath(of mediaPath: String, operation: String) throws(BackupError) -> String {
        let parent = FileSystem.parentPath(mediaPath)
        let isBeside = FileSystem.isWritable(parent) ? try FileSystem.areOnOneMount(mediaPath, parent) : false
        return "\(isBeside ? parent : mediaPath)/\(stagingPrefix)\(operation)"
    }

    private static func tooDeep(_ path: String) -> BackupError {
        BackupError(
            .notSupported, "the folder lies in more than \(depthLimit) others", path: MessageText.shortened(path),
            remedy: "Move it up, and try again. Nothing was changed.")
    }

    /// Whether the content of a media folder can be exchanged.
    /// - Throws: `notSupported` for one with a mount below it, since what lies there could neither be moved nor brought back, and for folders nested too
    ///   deep.
    static func requireNoMounts(in mediaPath: String) throws(BackupError) {
        do {
            try requireNoMounts(in: DirectoryReader(path: mediaPath), depth: 0)
        } catch let error where error.code == .busy {
            throw BackupError(
                .notSupported, "something is mounted on a folder of the media folder, which a restore would have to replace",
                path: error.path,
                remedy: "Unmount it and restore again, or restore into another folder with --target. Nothing was changed.")
        }
    }

    private static func requireNoMounts(in folder: borrowing DirectoryReader, depth: Int) throws(BackupError) {
        for name in try folder.names() {
            let kind: FileStatus.Kind
            do {
                kind = try folder.status(name).kind
            } catch let error where error.code == .notFound {
                continue
            }
            guard kind == .directory else { continue }
            guard depth < depthLimit else { throw tooDeep("\(folder.path)/\(name)") }
            try folder.requireNoMount(name)
            try requireNoMounts(in: folder.openDirectory(name), depth: depth + 1)
        }
    }
}
