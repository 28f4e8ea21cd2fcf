import BackupCore
import SystemIO

/// A lock of a repository, shared or exclusive, for as long as this value lives.
///
/// It is two things: a lock of the kernel on a file, for everybody on this machine, and a note in `locks/` with who holds it, which is renewed
/// while it is held, for other hosts on a network share. A lock whose holder is gone gets in nobody's way.
final class RepositoryLock: Sendable {
    enum Mode: Sendable {
        /// Writes packs: one at a time.
        case writing
        /// Needs all packs to stay where they are; any number may.
        case keepingPacks
        /// Removes packs: nobody may write, or need them.
        case removingPacks
        /// Gives names to snapshots and changes their labels. Held for moments only: see `NamesLock`.
        case naming
    }

    private let locks: [SingleLock]

    /// - Parameter operation: what it is for, as others are told.
    /// - Throws: `busy`, saying who holds it since when; `notPermitted` when another repository lies there now.
    init(_ layout: RepositoryLayout, _ mode: Mode, operation: String) throws(BackupError) {
        // Nothing is written where it does not belong, be it the file of a lock; and what is locked may be another disk by then.
        try layout.requireOpened()
        // Of two locks that one needs, none is kept while it waits for the other.
        locks = try LockPatience.waiting { () throws(BackupError) in try Self.take(layout, mode, operation) }
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

    /// Makes the files that other locks are on, where they are not there yet: operations that give room back need them when no more files can be made.
    static func prepareFiles(_ layout: RepositoryLayout) {
        for path in [layout.packsLock, layout.namesLock] where (try? FileSystem.exists(path)) == false {
            _ = try? OwnerOnly.createFile(path)
        }
    }

    /// To be asked before something that nobody else's view survives: another host may have taken this one for gone, after it slept.
    /// - Throws: `locked` when that happened.
    func requireHeld() throws(BackupError) {
        for lock in locks { try lock.requireHeld() }
    }
}

/// One file that is locked, and the note of it.
private final class SingleLock: Sendable {
    private let lock: AdvisoryLock
    /// `nil` where none can be written.
    private let notePath: String?
    private let noteBytes: [UInt8]

    init(
        _ layout: RepositoryLayout, _ path: String, isExclusive: Bool, _ operation: String
    ) throws(BackupError) {
        let folder = LockFolder(layout: layout)
        let name = FileSystem.lastComponent(path)
        do {
            lock = try AdvisoryLock(path: path, exclusive: isExclusive)
        } catch let error where error.code == .busy {
            throw Self.busy(folder.holder(of: name, excluding: isExclusive), layout)
        }
        let note: LockFolder.Note
        do {
            let holder = LockHolder(lock: name, isExclusive: isExclusive, operation: operation, path: path)
            noteBytes = holder.encode()
            note = try folder.write(holder)
        } catch let error where Self.canDoWithoutNote(error, isExclusive, name, layout) {
            notePath = nil
            guard isExclusive else { return }
            try Self.requireNoOther(
                LockFolder.Note(path: "", holder: nil, refreshedAt: SystemClock.systemTime()), isExclusive, folder, layout,
                lock: name)
            return
        }
        notePath = note.path
        do {
            try Self.requireNoOther(note, isExclusive, folder, layout, lock: name)
        } catch {
            try? FileSystem.removeFile(note.path)
            throw error
        }
        LockRefresher.shared.add(note.path, noteBytes)
    }

    /// Whether the kernel's lock must do. Where nothing can be written, nothing can be removed either. Where there is no room, whoever gives room back
    /// needs a lock: on a disk of this machine the kernel's is enough, and one on names is held for moments.
    private static func canDoWithoutNote(
        _ error: BackupError, _ isExclusive: Bool, _ name: String, _ layout: RepositoryLayout
    ) -> Bool {
        switch error.code {
        case .readOnly, .accessDenied, .notPermitted: !isExclusive
        case .noSpace: name == NamesLock.name || (try? FileSystem.isShared(layout.path)) == false
        default: false
        }
    }

    /// Looks after the own note is there: of two that come at the same time at least one sees the other.
    private static func requireNoOther(
        _ own: LockFolder.Note, _ isExclusive: Bool, _ folder: LockFolder, _ layout: RepositoryLayout, lock: String
    ) throws(BackupError) {
        try folder.sweepDrafts(now: own.refreshedAt)
        for note in try folder.notes() where note.path != own.path {
            if let holder = note.holder {
                guard holder.lock == lock, holder.isExclusive || isExclusive else { continue }
            }
            guard try folder.isStale(note, now: own.refreshedAt, kernelLock: .isOurs) else { throw busy(note.holder, layout) }
            try FileSystem.removeFile(note.path)
        }
    }

    private static func busy(_ holder: LockHolder?, _ layout: RepositoryLayout) -> BackupError {
        BackupError(
            .busy, holder.map { "another operation is running: \($0.text)" } ?? "another operation is running", path: layout.path,
            remedy: "Wait until it has finished and try again.")
    }

    func requireHeld() throws(BackupError) {
        guard let notePath else { return }
        do {
            try LockFolder.renew(notePath, noteBytes)
        } catch {
            guard error.code == .notFound else { throw error }
            throw BackupError(
                .locked, "another host considered this operation dead and may be working here",
                path: notePath, remedy: "Start it again.")
        }
    }

    deinit {
        guard let notePath else { return }
        LockRefresher.shared.remove(notePath)
        // Before the lock itself goes: whoever gets it next finds no note.
        try? FileSystem.removeFile(notePath)
    }
}
