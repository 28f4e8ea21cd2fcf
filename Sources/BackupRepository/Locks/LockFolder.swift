import BackupCore
import SystemIO

/// The notes of those who hold locks: a file for each in `locks/`, whose time of change says when its holder was last known to be there.
///
/// Where the kernel's locks reach, they decide: the kernel drops them with their holder, and the notes only say who it is. Between hosts that share
/// a folder, and between two mounts of it, they may not reach: there the notes decide.
struct LockFolder {
    /// Notes are renewed so often.
    static let refreshSeconds: Int64 = 30
    /// A note of another host that was not renewed for so long is that of a holder who is gone.
    static let expirySeconds: Int64 = 600
    /// The same for the lock on names, which is held for moments.
    static let namesExpirySeconds: Int64 = 60
    /// As long as a machine that was just started may be one of two that call themselves the same.
    private static let rebootMarginSeconds: Int64 = 45

    private static let noteExtension = ".lock"
    private static let draftExtension = ".new"

    struct Note {
        let path: String
        /// `nil` when it is no whole note. Notes appear whole, so a power cut left it.
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

    /// Renews a note by writing the same bytes over it: the time of a write is the server's, while that of utimensat(2) is the client's over SMB
    /// and sshfs, and a host with a slow clock would be taken for gone while it works.
    /// - Throws: `notFound` when it is gone.
    static func renew(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        do {
            try FileSystem.writeOver(path, bytes)
        } catch {
            // A full btrfs or ZFS has no room for that either, and whoever is about to give room back must not fail for it.
            guard error.code == .noSpace else { throw error }
            try FileSystem.touch(path)
        }
    }

    /// Removes drafts that crashes left.
    func sweepDrafts(now: Timestamp) throws(BackupError) {
        // Where there was no room for the folder there are none.
        guard try FileSystem.exists(layout.locks) else { return }
        for name in try DirectoryReader(path: layout.locks).names() where name.description.hasSuffix(Self.draftExtension) {
            let path = "\(layout.locks)/\(name)"
            guard let status = try FileSystem.look(path) else { continue }
            if now.secondsSince(status.modificationTime) > Self.expirySeconds { try FileSystem.removeFile(path) }
        }
    }

    /// All notes that are there.
    func notes() throws(BackupError) -> [Note] {
        guard try FileSystem.exists(layout.locks) else { return [] }
        var notes: [Note] = []
        for name in try DirectoryReader(path: layout.locks).names() where name.description.hasSuffix(Self.noteExtension) {
            let path = "\(layout.locks)/\(name)"
            // Its holder may just have finished.
            guard let status = try FileSystem.look(path), status.kind == .regular else { continue }
            do {
                let bytes = try FileSystem.readFile(path, limitBytes: LockHolder.byteCountLimit)
                notes.append(Note(path: path, holder: LockHolder(decoding: bytes), refreshedAt: status.modificationTime))
            } catch {
                switch error.code {
                case .notFound: continue
                case .tooLarge: notes.append(Note(path: path, holder: nil, refreshedAt: status.modificationTime))
                // A note that cannot be read now may be that of a holder who works.
                default: throw error
                }
            }
        }
        return notes
    }

    /// What is known of the kernel's lock that a note is about.
    enum KernelLock {
        /// This process has just been given it.
        case isOurs
        /// It can be asked about.
        case isUnknown
    }

    /// Whether a note's holder is gone.
    /// - Parameter now: by the clock of the file system that holds the notes; those of hosts differ.
    func isStale(_ note: Note, now: Timestamp, kernelLock: KernelLock = .isUnknown) throws(BackupError) -> Bool {
        guard let holder = note.holder else { return true }
        let age = now.secondsSince(note.refreshedAt)
        let expiry = holder.lock == NamesLock.name ? Self.namesExpirySeconds : Self.expirySeconds
        if age > expiry, !holder.isOfThisKernel { return true }
        guard holder.isOfThisKernel else {
            return holder.isOfEarlierKernel && note.refreshedAt < HostIdentity.bootTime && age > Self.rebootMarginSeconds
        }
        let path = "\(layout.path)/\(holder.lock)"
        if let volume = holder.volume, try volume == LockHolder.volume(of: path) {
            // The very file that it has locked: the kernel knows, whatever container the holder runs in.
            if kernelLock == .isOurs { return true }
            return try !AdvisoryLock.isHeld(path: path)
        }
        if holder.canSeeProcess {
            guard holder.hasEnded || holder.isLeftByThisProcess(at: note.path) || age > expiry else { return false }
            // Of an older program that did not note on which file its lock is.
            guard holder.volume == nil, kernelLock == .isUnknown else { return true }
            return try !AdvisoryLock.isHeld(path: path)
        }
        // In another container, on another mount: as if it were another host.
        return age > expiry
    }

    /// Whoever holds a lock in a way that excludes another holder, as far as the notes tell.
    func holder(of lock: String, excluding isExclusive: Bool) -> LockHolder? {
        let holders = ((try? notes()) ?? []).compactMap(\.holder).filter { $0.lock == lock && ($0.isExclusive || isExclusive) }
        return holders.first { !$0.isOfThisKernel || !$0.canSeeProcess || !$0.hasEnded }
    }
}
