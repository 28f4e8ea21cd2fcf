import BackupCore
import SystemIO

/// The notes of lock holders: one file for each in `locks/`. Its modification time says when the holder was last known to be
/// alive.
///
/// Where the kernel's locks work, they decide: the kernel drops them when the holder ends, and the notes only name the holder.
/// Between hosts that share a folder, or between two mounts of it, they may not work. There the notes decide.
struct LockFolder: LockNotes {
    private static let noteExtension = ".lock"
    private static let draftExtension = ".new"

    let layout: RepositoryLayout

    func write(_ holder: LockHolder) throws(BackupError) -> any OwnLockNote {
        try PrivateFile.makeFolder(layout.locks)
        let name = "\(layout.locks)/\(RandomToken.make())"
        let draft = name + Self.draftExtension
        do {
            // Closed before the rename: on a network share, other hosts see the whole note or none.
            try Self.writeDraft(holder, draft)
            try FileSystem.rename(draft, to: name + Self.noteExtension)
            return LockFile(name + Self.noteExtension, holder.encode())
        } catch {
            try? FileSystem.removeFile(draft)
            try? FileSystem.removeFile(name + Self.noteExtension)
            throw error
        }
    }

    private static func writeDraft(_ holder: LockHolder, _ path: String) throws(BackupError) {
        try PrivateFile.createFile(path).writeAll(holder.encode())
    }

    /// Removes drafts left by crashes.
    func sweepDrafts(now: Timestamp) throws(BackupError) {
        // If there was no space to create the folder, there are no drafts.
        guard try FileSystem.exists(layout.locks) else { return }
        for name in try DirectoryHandle(path: layout.locks).names() where name.description.hasSuffix(Self.draftExtension) {
            let path = "\(layout.locks)/\(name)"
            guard let status = try FileSystem.look(path) else { continue }
            if now.secondsSince(status.modificationTime) > LockTimes.expirySeconds { try FileSystem.removeFile(path) }
        }
    }

    func notes() throws(BackupError) -> [LockNote] {
        guard try FileSystem.exists(layout.locks) else { return [] }
        var notes: [LockNote] = []
        for name in try DirectoryHandle(path: layout.locks).names() where name.description.hasSuffix(Self.noteExtension) {
            let path = "\(layout.locks)/\(name)"
            // Its holder may just have finished.
            guard let status = try FileSystem.look(path), status.kind == .regular else { continue }
            do {
                let bytes = try FileSystem.readFile(path, limitBytes: LockHolder.byteCountLimit)
                notes.append(LockNote(path: path, holder: LockHolder(decoding: bytes), refreshedAt: status.modificationTime))
            } catch {
                switch error.code {
                case .notFound: continue
                case .tooLarge: notes.append(LockNote(path: path, holder: nil, refreshedAt: status.modificationTime))
                // A note that cannot be read now may belong to a working holder.
                default: throw error
                }
            }
        }
        return notes
    }

    func remove(_ note: LockNote) throws(BackupError) { try FileSystem.removeFile(note.path) }

    /// The clock of the file system, which may be another host's. It is read from the time of a new file.
    func now() throws(BackupError) -> Timestamp {
        let probe = "\(layout.temporary)/\(RandomToken.make())"
        defer { try? FileSystem.removeFile(probe) }
        return try PrivateFile.createFile(probe).status().modificationTime
    }
}

/// A note of this process in a folder.
final class LockFile: OwnLockNote {
    let path: String
    private let bytes: [UInt8]

    init(_ path: String, _ bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// Overwrites the note with the same bytes. The time of a write comes from the server, while over SMB and sshfs the time of
    /// utimensat(2) comes from the client: a working host with a slow clock would be considered gone.
    func renew() throws(BackupError) {
        do {
            try FileSystem.overwriteStart(path, bytes)
        } catch {
            // A full btrfs or ZFS cannot even overwrite, and an operation that is about to free space must not fail because of
            // it.
            guard error.code == .noSpace else { throw error }
            try FileSystem.touch(path)
        }
    }

    func refreshedAt(among notes: [LockNote]) throws(BackupError) -> Timestamp {
        try FileSystem.status(path).modificationTime
    }

    func requirePresent() throws(BackupError) { try renew() }

    func remove() { try? FileSystem.removeFile(path) }
}
