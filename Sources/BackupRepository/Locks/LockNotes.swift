import BackupCore
import SystemIO

/// The note of a lock's holder.
struct LockNote {
    /// Its file, or the name of its object.
    let path: String
    /// `nil` when the note is incomplete. Notes appear atomically, so a power cut caused that.
    let holder: LockHolder?
    /// When it was last renewed, by the clock of the storage that keeps it.
    let refreshedAt: Timestamp
}

/// Where the notes of lock holders are kept: a folder, or an object storage.
protocol LockNotes: Sendable {
    var layout: RepositoryLayout { get }

    /// Writes a note. It need not be durable: after a power cut there are no lock holders.
    func write(_ holder: LockHolder) throws(BackupError) -> any OwnLockNote

    /// All existing notes.
    func notes() throws(BackupError) -> [LockNote]

    /// Removes a note; a no-op when it is gone.
    func remove(_ note: LockNote) throws(BackupError)

    /// Removes what crashes left and is no note.
    func sweepDrafts(now: Timestamp) throws(BackupError)

    /// The time by the clock that dates the notes.
    func now() throws(BackupError) -> Timestamp
}

/// A note of this process.
protocol OwnLockNote: AnyObject, Sendable {
    var path: String { get }

    /// When it was last renewed, by the storage's clock.
    /// - Parameter notes: as just listed.
    func refreshedAt(among notes: [LockNote]) throws(BackupError) -> Timestamp

    /// Shows that the holder is alive.
    /// - Throws: `notFound` when the note is gone: another host has considered this one dead.
    func renew() throws(BackupError)

    /// The same, if the last renewal is not so recent that it proves the same.
    func requirePresent() throws(BackupError)

    /// Removes it. Errors are ignored: it expires.
    func remove()
}

extension RepositoryLayout {
    var lockNotes: any LockNotes {
        if let upstream { return LockObjects(layout: self, storage: upstream.storage) }
        return LockFolder(layout: self)
    }
}

/// What is known about the kernel lock that a note belongs to.
enum KernelLock {
    /// This process has just acquired it.
    case isOurs
    /// It can be queried.
    case isUnknown
}

enum LockTimes {
    /// The interval at which notes are renewed.
    static let refreshSeconds: Int64 = 30
    /// A note of another host that was not renewed for this long is considered stale.
    static let expirySeconds: Int64 = 600
    /// The same for the lock on names, which is only held for moments.
    static let namesExpirySeconds: Int64 = 60
    /// Two machines may have the same identity. After this time without a renewal, the holder does not run on the other one.
    static let rebootMarginSeconds: Int64 = 45
}

extension LockNotes {
    /// Whether a note's holder is gone.
    /// - Parameter now: by the clock of the storage that holds the notes; the clocks of hosts differ.
    func isStale(_ note: LockNote, now: Timestamp, kernelLock: KernelLock = .isUnknown) throws(BackupError) -> Bool {
        guard let holder = note.holder else { return true }
        let age = now.secondsSince(note.refreshedAt)
        let expiry = holder.lock == NamesLock.name ? LockTimes.namesExpirySeconds : LockTimes.expirySeconds
        if age > expiry, !holder.isOfThisKernel { return true }
        guard holder.isOfThisKernel else {
            return holder.isOfEarlierKernel && note.refreshedAt < HostIdentity.bootTime && age > LockTimes.rebootMarginSeconds
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
        _ onStale: (LockNote) throws(BackupError) -> Void
    ) throws(BackupError) -> (present: [LockHolder], stale: [LockHolder]) {
        let notes = try notes()
        var present: [LockHolder] = []
        var stale: [LockHolder] = []
        guard !notes.isEmpty else { return (present, stale) }
        let now = try now()
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
