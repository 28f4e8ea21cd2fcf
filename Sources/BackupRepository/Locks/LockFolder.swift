import BackupCore
import Dispatch
import Synchronization
import SystemIO

/// The notes of lock holders: one file for each in `locks/`. Its modification time says when the holder was last known to be
/// alive.
///
/// Where the kernel's locks work, they decide: the kernel drops them when the holder ends, and the notes only name the holder.
/// Between hosts that share a folder, or between two mounts of it, they may not work. There the notes decide.
struct LockFolder {
    /// The interval at which notes are renewed.
    static let refreshSeconds: Int64 = 30
    /// A note of another host that was not renewed for this long is considered stale.
    static let expirySeconds: Int64 = 600
    /// The same for the lock on names, which is only held for moments.
    static let namesExpirySeconds: Int64 = 60
    /// Two machines may have the same identity. After this time without a renewal, the holder does not run on the other one.
    private static let rebootMarginSeconds: Int64 = 45

    private static let noteExtension = ".lock"
    private static let draftExtension = ".new"

    struct Note {
        let path: String
        /// `nil` when the note is incomplete. Notes appear atomically, so a power cut caused that.
        let holder: LockHolder?
        /// When it was last renewed, by the clock of the file system.
        let refreshedAt: Timestamp
    }

    let layout: RepositoryLayout

    /// Writes a note. It need not be durable: after a power cut there are no lock holders.
    func write(_ holder: LockHolder) throws(BackupError) -> Note {
        try PrivateFile.makeFolder(layout.locks)
        let name = "\(layout.locks)/\(RandomToken.make())"
        let draft = name + Self.draftExtension
        do {
            // Closed before the rename: on a network share, other hosts see the whole note or none.
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
        try PrivateFile.createFile(path).writeAll(holder.encode())
    }

    /// Renews a note by overwriting it with the same bytes. The time of a write comes from the server, while over SMB and sshfs
    /// the time of utimensat(2) comes from the client: a working host with a slow clock would be considered gone.
    /// - Throws: `notFound` when the note is gone.
    static func renew(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        do {
            try FileSystem.overwriteStart(path, bytes)
        } catch {
            // A full btrfs or ZFS cannot even overwrite, and an operation that is about to free space must not fail because of
            // it.
            guard error.code == .noSpace else { throw error }
            try FileSystem.touch(path)
        }
    }

    /// Removes drafts left by crashes.
    func sweepDrafts(now: Timestamp) throws(BackupError) {
        // If there was no space to create the folder, there are no drafts.
        guard try FileSystem.exists(layout.locks) else { return }
        for name in try DirectoryHandle(path: layout.locks).names() where name.description.hasSuffix(Self.draftExtension) {
            let path = "\(layout.locks)/\(name)"
            guard let status = try FileSystem.look(path) else { continue }
            if now.secondsSince(status.modificationTime) > Self.expirySeconds { try FileSystem.removeFile(path) }
        }
    }

    /// All existing notes.
    func notes() throws(BackupError) -> [Note] {
        guard try FileSystem.exists(layout.locks) else { return [] }
        var notes: [Note] = []
        for name in try DirectoryHandle(path: layout.locks).names() where name.description.hasSuffix(Self.noteExtension) {
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
                // A note that cannot be read now may belong to a working holder.
                default: throw error
                }
            }
        }
        return notes
    }

    /// What is known about the kernel lock that a note belongs to.
    enum KernelLock {
        /// This process has just acquired it.
        case isOurs
        /// It can be queried.
        case isUnknown
    }

    /// Whether a note's holder is gone.
    /// - Parameter now: by the clock of the file system that holds the notes; the clocks of hosts differ.
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
            // It is the same file that the holder has locked, so the kernel knows, whatever container the holder runs in.
            if kernelLock == .isOurs { return true }
            return try !AdvisoryLock.isHeld(path: path)
        }
        if holder.canSeeProcess {
            guard holder.hasEnded || holder.isLeftByThisProcess(at: note.path) || age > expiry else { return false }
            // An older program did not record which file its lock is on.
            guard holder.volume == nil, kernelLock == .isUnknown else { return true }
            return try !AdvisoryLock.isHeld(path: path)
        }
        // In another container or on another mount: treated like another host.
        return age > expiry
    }

    /// Sorts the notes by whether their holders are still there.
    /// - Parameter onStale: called for each stale note, before the next one is looked at.
    func sortNotes(
        _ onStale: (Note) throws(BackupError) -> Void
    ) throws(BackupError) -> (present: [LockHolder], stale: [LockHolder]) {
        let notes = try notes()
        var present: [LockHolder] = []
        var stale: [LockHolder] = []
        guard !notes.isEmpty else { return (present, stale) }
        let now = try StorageClock.now(layout)
        for note in notes {
            if try isStale(note, now: now) {
                try onStale(note)
                if let holder = note.holder { stale.append(holder) }
            } else if let holder = note.holder {
                present.append(holder)
            }
        }
        return (present, stale)
    }

    /// The holder of a lock that conflicts with another holder, as far as the notes show.
    func holder(of lock: String, excluding isExclusive: Bool) -> LockHolder? {
        let holders = ((try? notes()) ?? []).compactMap(\.holder).filter { $0.lock == lock && ($0.isExclusive || isExclusive) }
        return holders.first { !$0.isOfThisKernel || !$0.canSeeProcess || !$0.hasEnded }
    }
}

/// The clock of the file system that holds a repository, which may be another host's. It is read from the time of a new file.
enum StorageClock {
    static func now(_ layout: RepositoryLayout) throws(BackupError) -> Timestamp {
        let probe = "\(layout.temporary)/\(RandomToken.make())"
        defer { try? FileSystem.removeFile(probe) }
        return try PrivateFile.createFile(probe).status().modificationTime
    }
}

/// Renews the notes of all locks that this process holds, every 30 seconds while there are any.
final class LockRefresher: Sendable {
    static let shared = LockRefresher()

    private struct State {
        /// The notes' contents, by path.
        var notes: [String: [UInt8]] = [:]
        var isScheduled = false
    }

    private let state = Mutex(State())

    func add(_ path: String, _ bytes: [UInt8]) {
        let mustSchedule = state.withLock { state in
            state.notes[path] = bytes
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule() }
    }

    func remove(_ path: String) { state.withLock { _ = $0.notes.removeValue(forKey: path) } }

    /// Whether the note belongs to a lock that this process holds.
    func isRenewing(_ path: String) -> Bool { state.withLock { $0.notes[path] != nil } }

    private func schedule() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(LockFolder.refreshSeconds))) { [self] in
            let isGoingOn = state.withLock { state in
                state.isScheduled = !state.notes.isEmpty
                return state.isScheduled
            }
            guard isGoingOn else { return }
            refresh()
            schedule()
        }
    }

    func refresh() {
        // A missing note is found when the lock is relied on (`requireHeld`).
        for (path, bytes) in state.withLock({ $0.notes }) { try? LockFolder.renew(path, bytes) }
    }
}
