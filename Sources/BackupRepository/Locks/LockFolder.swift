import BackupCore
import SystemIO

/// The notes of those who hold locks: a file for each in `locks/`, whose time of change says when its holder was last known to be there.
///
/// Between processes of one kernel the locks themselves decide, which the kernel drops with their holder; there the notes only say who it is.
/// Between hosts that share a folder, where locks may not reach, the notes decide.
struct LockFolder {
    /// Notes are renewed so often.
    static let refreshSeconds: Int64 = 30
    /// A note of another host that was not renewed for so long is that of a holder who is gone.
    static let expirySeconds: Int64 = 600
    /// As long as a machine that was just started may be one of two that call themselves the same.
    private static let rebootMarginSeconds: Int64 = 45

    private static let noteExtension = ".lock"
    private static let draftExtension = ".new"

    struct Note {
        let path: String
        /// `nil` when it cannot be read. Notes appear whole, so a power cut left it.
        let holder: LockHolder?
        /// When it was last renewed, by the clock of the file system.
        let refreshedAt: Timestamp
    }

    let layout: RepositoryLayout

    /// Writes a note. It is not made durable: after a power cut nobody holds anything.
    func write(_ holder: LockHolder) throws(BackupError) -> Note {
        try OwnerOnly.makeFolder(layout.locks)
        let name = "\(layout.locks)/\(RandomToken.make())"
        let draft = name + Self.draftExtension
        do {
            // Closed before it is renamed: on a network share others see it whole or not at all.
            try Self.writeDraft(holder, draft)
            try FileSystem.rename(draft, to: name + Self.noteExtension)
            let status = try FileSystem.status(name + Self.noteExtension)
            return Note(path: name + Self.noteExtension, holder: holder, refreshedAt: status.modificationTime)
        } catch {
            try? FileSystem.removeFile(draft)
            try? FileSystem.removeFile(name + Self.noteExtension)
            throw error
        }
    }

    private static func writeDraft(_ holder: LockHolder, _ path: String) throws(BackupError) {
        try OwnerOnly.createFile(path).writeAll(holder.encode())
    }

    /// Removes drafts that crashes left.
    func sweepDrafts(now: Timestamp) throws(BackupError) {
        for name in try DirectoryReader(path: layout.locks).names() where name.description.hasSuffix(Self.draftExtension) {
            let path = "\(layout.locks)/\(name)"
            guard let status = FileSystem.statusIfPresent(path) else { continue }
            if now.seconds - status.modificationTime.seconds > Self.expirySeconds { try FileSystem.removeFile(path) }
        }
    }

    /// All notes that are there.
    func notes() throws(BackupError) -> [Note] {
        guard FileSystem.exists(layout.locks) else { return [] }
        var notes: [Note] = []
        for name in try DirectoryReader(path: layout.locks).names() where name.description.hasSuffix(Self.noteExtension) {
            let path = "\(layout.locks)/\(name)"
            // Its holder may just have finished.
            guard let status = FileSystem.statusIfPresent(path), status.kind == .regular else { continue }
            let bytes = try? FileSystem.readFile(path, limitBytes: LockHolder.byteCountLimit)
            notes.append(
                Note(path: path, holder: bytes.flatMap { LockHolder(decoding: $0) }, refreshedAt: status.modificationTime))
        }
        return notes
    }

    /// Whether a note's holder is gone.
    /// - Parameter now: by the clock of the file system that holds the notes; those of hosts differ.
    func isStale(_ note: Note, now: Timestamp) -> Bool {
        let age = now.seconds - note.refreshedAt.seconds
        guard let holder = note.holder else { return true }
        if holder.isOfThisKernel { return holder.hasEnded || !AdvisoryLock.isHeld(path: "\(layout.path)/\(holder.lock)") }
        if holder.isOfEarlierKernel, note.refreshedAt < HostIdentity.bootTime, age > Self.rebootMarginSeconds { return true }
        return age > Self.expirySeconds
    }

    /// Whoever holds a lock in a way that excludes another holder, as far as the notes tell.
    func holder(of lock: String, excluding isExclusive: Bool) -> LockHolder? {
        let holders = ((try? notes()) ?? []).compactMap(\.holder).filter { $0.lock == lock && ($0.isExclusive || isExclusive) }
        return holders.first { !$0.isOfThisKernel || !$0.hasEnded }
    }
}
