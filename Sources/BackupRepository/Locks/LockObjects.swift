import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// The notes of lock holders in an object storage: one object for each below `locks/`. The time at which the storage has stored
/// it says when the holder was last known to be alive.
///
/// It needs no more of the storage than that a listing shows what was stored before it: of two simultaneous holders, each
/// writes its note and then lists all, so that at least one sees the other.
struct LockObjects: LockNotes {
    private static let prefix = "locks/"

    let layout: RepositoryLayout
    let storage: any ObjectStorage

    func write(_ holder: LockHolder) throws(BackupError) -> any OwnLockNote {
        let name = try Self.makeName()
        let bytes = holder.encode()
        let start = SystemClock.bootNanoseconds()
        let version = try storage.create(name, ObjectDraft(bytes))
        KnownLockNotes.shared.note(name, version, holder)
        return LockObject(name, bytes, version, writtenAt: start, storage)
    }

    private static func makeName() throws(BackupError) -> ObjectName {
        guard let name = ObjectName("\(prefix)\(RandomToken.make()).lock") else {
            throw BackupError(.invalidArgument, "a random token is no name of an object")
        }
        return name
    }

    /// Removes notes that were emptied long ago by programs that may not remove objects.
    func sweepDrafts(now: Timestamp) throws(BackupError) {
        var empty: [ObjectName] = []
        try storage.forEachObject(prefix: Self.prefix) { (facts) throws(BackupError) in
            guard facts.sizeBytes == 0, now.secondsSince(facts.storedAt) > LockTimes.expirySeconds else { return }
            empty.append(facts.name)
        }
        for name in empty {
            do throws(BackupError) {
                try storage.removeIfPresent(name)
            } catch {
                guard [.accessDenied, .notSupported].contains(error.code) else { throw error }
                return
            }
        }
    }

    func notes() throws(BackupError) -> [LockNote] {
        var notes: [LockNote] = []
        try storage.forEachObject(prefix: Self.prefix) { (facts) throws(BackupError) in
            // An empty one was released by a holder that may not remove objects.
            guard facts.sizeBytes > 0 else { return }
            var holder = KnownLockNotes.shared.holder(facts.name, facts.version)
            if holder == nil, facts.sizeBytes <= UInt64(LockHolder.byteCountLimit) {
                // Its holder may just have finished.
                guard let (bytes, version) = try storage.contents(of: facts.name, limitBytes: LockHolder.byteCountLimit),
                    !bytes.isEmpty
                else { return }
                holder = LockHolder(decoding: bytes)
                if let holder { KnownLockNotes.shared.note(facts.name, version, holder) }
            }
            notes.append(LockNote(path: facts.name.text, holder: holder, refreshedAt: facts.storedAt))
        }
        return notes
    }

    func remove(_ note: LockNote) throws(BackupError) {
        guard let name = ObjectName(note.path) else { return }
        try Self.remove(name, storage)
    }

    /// Removes a note, or empties it where nothing may be removed.
    static func remove(_ name: ObjectName, _ storage: any ObjectStorage) throws(BackupError) {
        do throws(BackupError) {
            try storage.removeIfPresent(name)
        } catch {
            guard [.accessDenied, .notSupported].contains(error.code) else { throw error }
            guard let facts = try storage.look(name) else { return }
            _ = try storage.replace(name, version: facts.version, ObjectDraft([]))
        }
    }

    /// The storage's clock, which dates the notes: read from the time of a new object.
    func now() throws(BackupError) -> Timestamp {
        let name = try Self.makeName()
        _ = try storage.create(name, ObjectDraft([]))
        defer { try? Self.remove(name, storage) }
        guard let facts = try storage.look(name) else {
            throw BackupError(
                .inputOutput, "the storage does not show an object that it has just stored", path: storage.location)
        }
        return facts.storedAt
    }
}

/// The notes that this process has written or read: each is read once, unless it changes. Their names are random, and so they
/// are those of one storage.
private final class KnownLockNotes: Sendable {
    static let shared = KnownLockNotes()

    private typealias Notes = [ObjectName: (version: ObjectVersion, holder: LockHolder)]

    private static let countLimit = 256

    /// The older ones go when there are too many newer ones: those of this moment's locks are never all forgotten.
    private let known = Mutex<(newer: Notes, older: Notes)>(([:], [:]))

    func note(_ name: ObjectName, _ version: ObjectVersion, _ holder: LockHolder) {
        known.withLock { known in
            if known.newer.count >= Self.countLimit { known = ([:], known.newer) }
            known.newer[name] = (version, holder)
        }
    }

    /// - Returns: `nil` for a note that is not known, or has changed.
    func holder(_ name: ObjectName, _ version: ObjectVersion) -> LockHolder? {
        known.withLock { known in
            (known.newer[name] ?? known.older[name]).flatMap { $0.version == version ? $0.holder : nil }
        }
    }
}

/// A note of this process in an object storage.
final class LockObject: OwnLockNote {
    /// A renewal that is not older proves that no other host considers this one dead: by far less than a note's life.
    private static let freshNanoseconds: UInt64 = 10_000_000_000

    private struct State {
        var version: ObjectVersion
        /// Before the last renewal was sent, also counting the time in which the machine sleeps.
        var renewedAt: UInt64
        var isRemoved = false
    }

    private let name: ObjectName
    private let bytes: [UInt8]
    private let storage: any ObjectStorage
    private let state: Mutex<State>

    init(
        _ name: ObjectName, _ bytes: [UInt8], _ version: ObjectVersion, writtenAt: UInt64, _ storage: any ObjectStorage
    ) {
        self.name = name
        self.bytes = bytes
        self.storage = storage
        state = Mutex(State(version: version, renewedAt: writtenAt))
    }

    var path: String { name.text }

    func refreshedAt(among notes: [LockNote]) throws(BackupError) -> Timestamp {
        guard let shown = notes.first(where: { $0.path == path }) else {
            throw BackupError(
                .locked, "the storage does not list the note of a lock that it has just stored",
                path: "\(storage.location)/\(path)",
                remedy: "Try again. If that does not help, the storage cannot keep two machines apart.")
        }
        return shown.refreshedAt
    }

    func renew() throws(BackupError) { try state.withLock { (state) throws(BackupError) in try renew(&state) } }

    func requirePresent() throws(BackupError) {
        try state.withLock { (state) throws(BackupError) in
            guard SystemClock.bootNanoseconds() - state.renewedAt > Self.freshNanoseconds else { return }
            try renew(&state)
        }
    }

    private func renew(_ state: inout State) throws(BackupError) {
        // A renewal under way while the lock is released must not bring the note back.
        guard !state.isRemoved else { return }
        let start = SystemClock.bootNanoseconds()
        do throws(BackupError) {
            state.version = try storage.replace(name, version: state.version, ObjectDraft(bytes))
        } catch {
            // The answer to the last renewal may have been lost.
            guard error.code == .conflict, let (found, version) = try storage.contents(of: name, limitBytes: bytes.count),
                found == bytes
            else {
                guard error.code == .conflict || error.code == .notFound else { throw error }
                // From now on, no earlier renewal proves anything.
                state.renewedAt = 0
                throw error.with(.notFound)
            }
            state.version = try storage.replace(name, version: version, ObjectDraft(bytes))
        }
        state.renewedAt = start
    }

    func remove() {
        state.withLock { state in
            state.isRemoved = true
            try? LockObjects.remove(name, storage)
        }
    }
}
