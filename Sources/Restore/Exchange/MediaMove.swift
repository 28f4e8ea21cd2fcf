import BackupCore
import Glibc
import SystemIO

/// Moves entries out of a folder in which an app may create others at any moment. Replaces nothing. It may be interrupted
/// anywhere and run again.
enum MediaMove {
    /// The number of retries of an operation that fails only while an app creates files in the way.
    static let tryLimit = 1_000

    /// Moves an entry out of a folder, under the next free name if a file of its name has been moved out before; merges folders
    /// of one name. A no-op when it does not exist.
    /// - Returns: its new name; `nil` when it did not exist, or was moved entry by entry.
    @discardableResult
    static func aside(_ name: FileName, _ folder: DirectoryHandle, to other: DirectoryHandle) throws(BackupError) -> FileName? {
        for number in 1...tryLimit {
            guard let status = try folder.statusIfPresent(name) else { return nil }
            let candidate = FileName(bytes: MediaPlan.numbered(name.bytes, number))
            do {
                try move(name, status, folder, to: other, as: candidate)
                return candidate
            } catch let error where error.code == .alreadyExists {
                guard let present = try other.statusIfPresent(candidate) else { continue }
                // A file has both names after a crash during a move by hard link.
                if FileIdentity(present) == FileIdentity(status) {
                    try folder.removeFile(name)
                    return candidate
                }
                guard status.kind == .directory, present.kind == .directory else { continue }
                try moveEntries(name, status, folder, to: other, as: candidate)
                return nil
            }
        }
        throw tooManyTries("\(folder.path)/\(name)")
    }

    static func tooManyTries(_ path: String) -> BackupError {
        BackupError(
            .busy, "the app makes files faster than a restore can move them", path: path, remedy: "Close the app, and try again.")
    }

    private static func move(
        _ name: FileName, _ status: FileStatus, _ folder: DirectoryHandle, to other: DirectoryHandle, as newName: FileName
    ) throws(BackupError) {
        do {
            try folder.move(name, to: other, as: newName)
        } catch let error where error.code == .notFound {
            // Gone since the check.
        } catch let error where status.kind == .directory && (error.code == .accessDenied || error.code == .crossDevice) {
            // A folder that its owner may not write to cannot be moved: “..” changes.
            if error.code == .accessDenied, status.mode & 0o700 != 0o700, folder.makeAccessible(name) {
                return try folder.move(name, to: other, as: newName)
            }
            guard error.code == .crossDevice else { throw error }
            try moveEntries(name, status, folder, to: other, as: newName)
        }
    }

    /// Moves a folder's content into one of the other folder, and removes it: some file systems do not rename folders (overlayfs
    /// those of a lower layer), or not between some places.
    private static func moveEntries(
        _ name: FileName, _ status: FileStatus, _ folder: DirectoryHandle, to other: DirectoryHandle, as newName: FileName
    ) throws(BackupError) {
        if status.mode & 0o700 != 0o700 { folder.makeAccessible(name) }
        guard let source = try folder.openFolder(name) else { return }
        let target = try other.openOrMakeFolder(newName)
        for _ in 1...tryLimit {
            // A database's logs go before it: without its log it must not be mistaken for a complete one.
            for entry in try source.names().reversed() { try aside(entry, source, to: target) }
            try target.finish(permissions: mode_t(status.mode & 0o7777 | 0o700), modificationTime: status.modificationTime)
            for changed in [target, source] { try changed.synchronize() }
            do {
                return try folder.removeFolder(name)
            } catch let error where error.code == .notEmpty {
                try Cancellation.check()
            }
        }
        throw tooManyTries("\(folder.path)/\(name)")
    }
}

/// The media files that a restore has moved out of their folder. A rename changes a file's change time, which otherwise shows
/// that nothing was written to it. After a crash this is lost, and the files are read instead.
final class MovedMedia {
    private struct ChangeTimes {
        let before: Timestamp
        let after: Timestamp
    }

    private var files: [FileIdentity: ChangeTimes] = [:]

    init() {}

    /// - Parameters:
    ///   - before: right before the move.
    ///   - after: right after the move.
    func record(_ before: FileStatus, _ after: FileStatus) {
        guard before.kind != .directory, FileIdentity(before) == FileIdentity(after) else { return }
        // If a file has two names, the second is moved with the change time that the first move set.
        files[FileIdentity(before)] = ChangeTimes(before: changeTime(before), after: after.changeTime)
    }

    /// When a file was last changed, ignoring the move.
    func changeTime(_ status: FileStatus) -> Timestamp {
        guard let file = files[FileIdentity(status)], file.after == status.changeTime else { return status.changeTime }
        return file.before
    }
}

/// A media file that a restore has replaced; it is removed if the safety backup has it.
public struct ReplacedFile {
    /// Below the media folder.
    public let path: [UInt8]
    public let status: FileStatus
    /// When it was last changed, ignoring the restore's move. After a crash it is unknown: then it is the time of the move.
    public let changeTime: Timestamp
    private let name: FileName
    private let folder: DirectoryHandle

    init(_ name: FileName, in folder: DirectoryHandle, path: [UInt8], _ status: FileStatus, changeTime: Timestamp) {
        self.name = name
        self.folder = folder
        self.path = path
        self.status = status
        self.changeTime = changeTime
    }

    /// Whether the file system sets a change time at each change, also of a mapped file. Otherwise the time proves nothing.
    public var hasTrueChangeTime: Bool { FileSystem.proofForLink(folder.descriptor) == .changeTime }

    /// Reads the whole file.
    /// - Returns: `nil` when it is not a file, or changes during the read.
    public func digest() throws(BackupError) -> SHA256Digest? {
        guard let file = try folder.openFileIfPresent(name) else { return nil }
        let shared = try SharedFile(file)
        let digest = try shared.sha256()
        return try shared.status() == status ? digest : nil
    }

    /// The target of a symbolic link; `nil` when it is not a link.
    public func linkTarget() throws(BackupError) -> [UInt8]? { try folder.readLinkIfPresent(name) }
}
