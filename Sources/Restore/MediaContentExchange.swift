import BackupCore
import Glibc
import SystemIO

/// Exchanges what a media folder holds, entry by entry, for what was staged. The folder itself stays, so that a mount on it, a container that
/// has it, and a program that stands in it see the restored files.
///
/// Of the staging folder, `new` holds what is to come, and `old` gets what was there. First what has no successor is taken out; when that is
/// durable the file `emptied` says so; then each staged entry is brought in, after the entry of its name has been taken out. Every step is a
/// rename that replaces nothing, and where each entry lies tells what is still to be done: it may be interrupted anywhere and run again.
struct MediaContentExchange {
    let mediaPath: String
    let stagingPath: String
    let amongMedia: DatabaseAmongMedia

    var newPath: String { Self.newPath(stagingPath) }
    var oldPath: String { "\(stagingPath)/old" }
    private var markPath: String { "\(stagingPath)/emptied" }

    static func newPath(_ stagingPath: String) -> String { "\(stagingPath)/new" }

    /// Makes the folders; the staging folder is there.
    func prepare() throws(BackupError) {
        try FileSystem.makeDirectory(newPath)
        try FileSystem.makeDirectory(oldPath)
    }

    /// Durable when it returns; does nothing when it is done already.
    /// - Throws: `notFound` when the staged files are not there any more: then nothing is touched.
    func publish() throws(BackupError) {
        for path in [newPath, oldPath] where try FileSystem.identityIfPresent(path) == nil {
            throw BackupError(
                .notFound, "the media files that a restore had prepared are not there any more", path: stagingPath,
                remedy:
                    "If their disk is not mounted, mount it. If they are lost, check the app's media, and then remove restore.journal from the store."
            )
        }
        let media = try FolderHandle(path: mediaPath)
        if try FileSystem.identityIfPresent(markPath) == nil {
            try takeOut(
                DirectoryReader(path: mediaPath), media, newPath, to: FolderHandle(path: oldPath), amongMedia)
            try FileSystem.synchronizeDirectory(mediaPath)
            try FileSystem.synchronizeDirectory(oldPath)
            try FaultInjection.reached("restore.media-emptied")
            try OwnedDescriptor.open(markPath, O_WRONLY | O_CREAT).synchronize()
            try FileSystem.synchronizeDirectory(stagingPath)
        }
        try bringIn(DirectoryReader(path: newPath), FolderHandle(path: newPath), media, FolderHandle(path: oldPath), amongMedia)
        for path in [mediaPath, oldPath, newPath] { try FileSystem.synchronizeDirectory(path) }
    }

    /// Takes out what nothing that is staged replaces.
    /// - Parameter staged: the path of the staged folder, which may not be there.
    private func takeOut(
        _ names: borrowing DirectoryReader, _ folder: FolderHandle, _ staged: String, to old: FolderHandle,
        _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        var coming: Set<FileName> = []
        do {
            coming = Set(try DirectoryReader(path: staged).names())
        } catch let error where error.code == .notFound {}
        for name in try names.names() where !amongMedia.hides(name) {
            if amongMedia.isBelow(name) {
                guard let inner = try folder.openFolder(name) else { continue }
                let target = try old.openFolderMakingIt(name)
                try takeOut(names.openDirectory(name), inner, "\(staged)/\(name)", to: target, amongMedia.entering(name))
                try inner.synchronize()
                try target.synchronize()
            } else if !coming.contains(name) {
                try FaultInjection.reached("restore.file-taken-out")
                try Self.moveAside(name, folder, to: old)
            }
        }
    }

    /// Brings in what is staged.
    private func bringIn(
        _ names: borrowing DirectoryReader, _ staged: FolderHandle, _ folder: FolderHandle, _ old: FolderHandle,
        _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        for name in try names.names() {
            if amongMedia.isBelow(name), let inner = try folder.openFolder(name), let source = try staged.openFolder(name) {
                let target = try old.openFolderMakingIt(name)
                try bringIn(names.openDirectory(name), source, inner, target, amongMedia.entering(name))
                for changed in [inner, source, target] { try changed.synchronize() }
                continue
            }
            try FaultInjection.reached("restore.file-brought-in")
            try bringIn(name, staged, folder, old)
        }
    }

    /// The app may make something of that name at any moment: it is taken out as well.
    private func bringIn(
        _ name: FileName, _ staged: FolderHandle, _ folder: FolderHandle, _ old: FolderHandle
    ) throws(BackupError) {
        while true {
            // A file has both names after a crash where it moves by way of a second name.
            if let present = try folder.identity(name), present == (try staged.identity(name)) {
                return try staged.removeFile(name)
            }
            try Self.moveAside(name, folder, to: old)
            do {
                return try staged.move(name, to: folder, as: name)
            } catch let error where error.code == .alreadyExists {
                try Cancellation.check()
            }
        }
    }

    /// Moves something out of a folder, under the next free name if it has been moved out before; nothing happens when it is not there.
    static func moveAside(_ name: FileName, _ folder: FolderHandle, to other: FolderHandle) throws(BackupError) {
        guard let identity = try folder.identity(name) else { return }
        var number = 1
        while true {
            let candidate = FileName(bytes: MediaPlan.numbered(name.bytes, number))
            do {
                try folder.move(name, to: other, as: candidate)
                return
            } catch {
                switch error.code {
                case .notFound: return
                case .alreadyExists where try other.identity(candidate) == identity: return try folder.removeFile(name)
                case .alreadyExists: number += 1
                // A folder that its owner may not write to cannot be moved: “..” changes.
                case .accessDenied where folder.makeAccessible(name): try folder.move(name, to: other, as: candidate)
                default: throw error
                }
            }
        }
    }
}
