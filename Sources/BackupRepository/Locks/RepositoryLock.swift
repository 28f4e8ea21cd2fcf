import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A lock of a repository, shared or exclusive, held for as long as this value lives.
///
/// It consists of two parts: a kernel lock on a file, for the processes of this machine, and a note in `locks/`, for other hosts
/// on a network share. The note names the holder and is renewed while the lock is held. A stale lock does not block anything.
final class RepositoryLock: Sendable {
    enum Mode: Sendable {
        /// Writes packs: one at a time.
        case writing
        /// Needs all packs to stay where they are; any number of holders.
        case keepingPacks
        /// Removes packs: excludes writers and `keepingPacks`.
        case removingPacks
        /// Gives names to snapshots and changes their labels. Held for moments only: see `NamesLock`.
        case naming
    }

    private let locks: [SingleLock]

    /// - Parameter operation: what the lock is for, as shown to other processes.
    /// - Throws: `busy`, naming the holder and since when; `notPermitted` when another repository is there now; `readOnly` for a
    ///   lock of a writer, when the repository is only read from here.
    init(_ layout: RepositoryLayout, _ mode: Mode, operation: String) throws(BackupError) {
        if mode != .keepingPacks { try layout.requireWritable() }
        // Nothing may be written to a foreign repository, not even a lock file; and by the time the lock is held, the disk may be
        // another one.
        try layout.requireOpened()
        // With two locks to take, none is held while waiting for the other.
        locks = try LockTimeout.waiting { () throws(BackupError) in try Self.take(layout, mode, operation) }
        try layout.requireOpened()
        // What other machines have done until now.
        guard let upstream = layout.upstream else { return }
        try upstream.refresh(mode == .naming ? .records : .everything)
        try layout.requireOpened()
    }

    private static func take(
        _ layout: RepositoryLayout, _ mode: Mode, _ operation: String
    ) throws(BackupError) -> [SingleLock] {
        switch mode {
        case .writing: return [try SingleLock(layout, layout.writerLock, isExclusive: true, operation)]
        case .keepingPacks: return [try SingleLock(layout, layout.packsLock, isExclusive: false, operation)]
        case .naming: return [try SingleLock(layout, layout.namesLock, isExclusive: true, operation)]
        case .removingPacks:
            let writing = try SingleLock(layout, layout.writerLock, isExclusive: true, operation)
            return [writing, try SingleLock(layout, layout.packsLock, isExclusive: true, operation)]
        }
    }

    /// Creates the files of other locks in advance: operations that free space need them when no more files can be created.
    static func prepareFiles(_ layout: RepositoryLayout) {
        for path in [layout.packsLock, layout.namesLock] where (try? FileSystem.exists(path)) == false {
            _ = try? PrivateFile.createFile(path)
        }
    }

    /// Removes the notes of this lock in the background, which takes requests in an object storage: another lock can be released
    /// meanwhile. The lock itself is released with its value. Nothing may rely on it any more.
    /// - Returns: steps to wait for.
    func removeNotesInBackground() -> [BackgroundStep<Void>] {
        // The caller alone decides when a lock is released.
        locks.map { lock in
            BackgroundStep { [weak lock] () throws(BackupError) -> Void in if let lock { lock.removeNote() } }
        }
    }

    /// Call it before a step that would break another holder's work: after a suspend, another host may have considered this one
    /// gone.
    /// - Throws: `locked` when that happened.
    func requireHeld() throws(BackupError) {
        for lock in locks { try lock.requireHeld() }
    }
}

/// A locked file and its note.
private final class SingleLock: Sendable {
    private let lock: AdvisoryLock
    /// `nil` where no note can be written.
    private let note: (any OwnLockNote)?
    private let isNoteRemoved = Atomic<Bool>(false)

    init(
        _ layout: RepositoryLayout, _ path: String, isExclusive: Bool, _ operation: String
    ) throws(BackupError) {
        let notes = layout.lockNotes
        let name = FileSystem.lastComponent(path)
        do {
            lock = try AdvisoryLock(path: path, exclusive: isExclusive)
        } catch let error where error.code == .busy {
            throw Self.busy(notes.holder(of: name, excluding: isExclusive), layout)
        }
        let note: any OwnLockNote
        do {
            note = try notes.write(LockHolder(lock: name, isExclusive: isExclusive, operation: operation, path: path))
        } catch let error where Self.canDoWithoutNote(error, isExclusive, name, layout) {
            self.note = nil
            if isExclusive { try Self.requireNoOther(nil, isExclusive, notes, lock: name) }
            return
        }
        self.note = note
        do {
            try Self.requireNoOther(note, isExclusive, notes, lock: name)
        } catch {
            note.remove()
            throw error
        }
        LockRefresher.shared.add(note)
    }

    /// Whether the kernel's lock alone is enough. Where nothing can be written, nothing can be removed either. On a full disk, an
    /// operation that frees space needs a lock: on a local disk the kernel's is enough, and a lock on names is held for moments.
    private static func canDoWithoutNote(
        _ error: BackupError, _ isExclusive: Bool, _ name: String, _ layout: RepositoryLayout
    ) -> Bool {
        switch error.code {
        case .readOnly, .accessDenied, .notPermitted: !isExclusive
        // In an object storage, a lock without a note is none.
        case .noSpace where layout.upstream != nil: false
        case .noSpace: name == NamesLock.name || (try? FileSystem.isShared(layout.path)) == false
        default: false
        }
    }

    /// Checks after its own note exists: of two simultaneous holders at least one sees the other.
    private static func requireNoOther(
        _ own: (any OwnLockNote)?, _ isExclusive: Bool, _ notes: any LockNotes, lock: String
    ) throws(BackupError) {
        let all = try notes.notes()
        let now = try own?.refreshedAt(among: all) ?? SystemClock.systemTime()
        // A listing of a storage costs a request: prunes see to it there.
        if notes.layout.upstream == nil || lock == FileSystem.lastComponent(notes.layout.packsLock) {
            try notes.sweepDrafts(now: now)
        }
        for note in all where note.path != own?.path {
            if let holder = note.holder {
                guard holder.lock == lock, holder.isExclusive || isExclusive else { continue }
            }
            guard try notes.isStale(note, now: now, kernelLock: .isOurs) else { throw busy(note.holder, notes.layout) }
            do throws(BackupError) {
                try notes.remove(note)
            } catch {
                // With credentials that may only add, it stays, and stays stale.
                // Or another machine has removed it at the same moment.
                guard notes.layout.upstream != nil, [.accessDenied, .conflict].contains(error.code) else { throw error }
            }
        }
    }

    private static func busy(_ holder: LockHolder?, _ layout: RepositoryLayout) -> BackupError {
        BackupError(
            .busy, holder.map { "another operation is running: \($0.text)" } ?? "another operation is running", path: layout.path,
            remedy: "Wait until it has finished and try again.")
    }

    func requireHeld() throws(BackupError) {
        guard let note else { return }
        do {
            try note.requirePresent()
        } catch {
            guard error.code == .notFound else { throw error }
            throw BackupError(
                .locked, "another host considered this operation dead and may be working here",
                path: note.path, remedy: "Start it again.")
        }
    }

    deinit { removeNote() }

    func removeNote() {
        guard let note, !isNoteRemoved.exchange(true, ordering: .relaxed) else { return }
        LockRefresher.shared.remove(note.path)
        // Before the lock itself is released, so that the next holder finds no note. Also after the operation was cancelled.
        try? Cancellation.shielded { () throws(BackupError) in note.remove() }
    }
}

/// The lock on the names and labels of snapshots. It is held for moments, so that waiting for it pays. It works between processes
/// of this machine, and by its note between hosts: otherwise two of them could write the same label and lose a pin.
struct NamesLock: ~Copyable {
    /// The locked file.
    static let name = "names.lock"
    /// Longer than it takes for a note to become stale.
    private static let waitSeconds = UInt64(LockTimes.namesExpirySeconds) + 20
    /// Doubled with each attempt, with a random part: two hosts that collide would otherwise go on colliding.
    private static let shortestPauseMicroseconds: UInt32 = 5_000
    private static let longestPauseMicroseconds: UInt32 = 250_000

    private let lock: RepositoryLock

    /// Waits a good minute.
    /// - Throws: `busy` when the lock is still held then.
    init(_ layout: RepositoryLayout) throws(BackupError) { lock = try Self.acquire(layout) }

    private static func acquire(_ layout: RepositoryLayout) throws(BackupError) -> RepositoryLock {
        let start = SystemClock.monotonicNanoseconds()
        var pause = shortestPauseMicroseconds
        while true {
            do {
                return try RepositoryLock(layout, .naming, operation: "rename")
            } catch {
                guard error.code == .busy else { throw error }
                if SystemClock.monotonicNanoseconds() - start > waitSeconds * 1_000_000_000 { throw error }
            }
            usleep(UInt32.random(in: pause / 2...pause))
            pause = min(pause * 2, longestPauseMicroseconds)
            try Cancellation.check()
        }
    }

    /// - Throws: `locked` when another host has considered this one gone.
    borrowing func requireHeld() throws(BackupError) { try lock.requireHeld() }

    /// The lock, for one that releases it together with another one.
    borrowing func shared() -> RepositoryLock { lock }
}

/// An advisory lock that is only held for moments, so that waiting for it pays.
enum WaitingLock {
    private static let attemptCount = 4000
    private static let pauseMicroseconds: UInt32 = 5_000

    /// Waits up to 20 seconds.
    /// - Throws: `busy` when it is still held then.
    static func acquire(path: String) throws(BackupError) -> AdvisoryLock {
        for _ in 1..<attemptCount {
            do {
                return try AdvisoryLock(path: path)
            } catch {
                guard error.code == .busy else { throw error }
            }
            usleep(pauseMicroseconds)
        }
        return try AdvisoryLock(path: path)
    }
}
