import BackupCore
import CopyVerify
import Glibc
import SystemIO

/// A file while a program copies it into a set of destinations. The bytes are in the store until the program closes the file;
/// close(2) then copies them to all destinations, and returns when they were read back.
///
/// It is copied once: when the process that opened it closes its last descriptor of it, and no child of it has one, or when no
/// descriptor is left. What a child closes, and the first of several descriptors, do not mean that it is complete. A file whose
/// process was killed is given up.
final class DroppedCopy: Sendable {
    private enum Phase {
        case writing, copying
        case over(BackupError?)
    }

    private struct State {
        var phase = Phase.writing
        var openCount = 0
        /// Changes of the bytes in progress.
        var changeCount = 0

        var isCopying: Bool { if case .copying = phase { true } else { false } }
        var isWriting: Bool { if case .writing = phase { true } else { false } }
    }

    let draft: CopySet.Draft
    private let set: CopySet
    private let copies: DroppedCopies
    private let state = Monitor(State())

    init(_ draft: CopySet.Draft, in set: CopySet, _ copies: DroppedCopies) {
        self.draft = draft
        self.set = set
        self.copies = copies
    }

    /// The end of its path in every mount.
    private var pathEnding: [UInt8] {
        Array("/copy/\(set.place.name)/".utf8) + BytePath.joined(draft.path)
    }

    /// - Parameter process: the thread that opens it.
    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        state.withLock { $0.openCount += 1 }
        do throws(BackupError) {
            if flags & O_TRUNC != 0, try draft.status().size > 0 {
                try write { () throws(BackupError) in try draft.truncate(to: 0) }
            }
        } catch {
            release(closer: nil)
            throw error
        }
        return OpenDroppedCopy(self, process: process)
    }

    /// Runs a change of the bytes.
    func write(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        let isWriting = state.withLock { state in
            if state.isWriting { state.changeCount += 1 }
            return state.isWriting
        }
        guard isWriting else {
            throw BackupError(
                .busy, "the file has been copied to its destinations already",
                path: MessageText.name(BytePath.joined(draft.path)),
                remedy: "Copy it again.")
        }
        defer { state.changeWakingAll { $0.changeCount -= 1 } }
        try body()
    }

    /// Copies it, unless that was done. A second close at the same time waits for the first, and gets the same answer.
    private func copy() throws(BackupError) {
        let verdict = state.wait(until: { !$0.isCopying && $0.changeCount == 0 }) { state -> BackupError?? in
            if case .over(let failure) = state.phase { return failure }
            state.phase = .copying
            return .none
        }
        if let verdict {
            if let verdict { throw verdict }
            return
        }
        var failure: BackupError?
        do throws(BackupError) {
            try set.copy(draft)
        } catch {
            failure = error
        }
        end(failure)
        if let failure { throw failure }
    }

    private func end(_ failure: BackupError?) {
        // In this order: its place in the spool is free before another file can get it.
        set.release(draft)
        copies.take(self)
        state.changeWakingAll { $0.phase = .over(failure) }
    }

    /// The file is not copied: its name was removed, or its process was killed. If it is being copied already, it stays.
    /// - Parameter waits: whether to wait for the end of such a copy. A killed process must not stay as long as the copy for
    ///   another one takes.
    func giveUp(waits: Bool = true) {
        let isMine = state.wait(until: { $0.isCopying ? !waits : $0.changeCount == 0 }) { state in
            guard state.isWriting else { return false }
            state.phase = .copying
            return true
        }
        if isMine { end(BackupError(.interrupted, "the copy was given up")) }
    }

    /// A flush comes for each close(2) of each duplicate of the descriptor, also of those that children inherit.
    /// - Parameters:
    ///   - opener: the process that has opened the file; `nil` when it is unknown.
    ///   - closer: the thread that closes it.
    func flush(opener: Int32?, closer: Int32) throws(BackupError) {
        try FaultInjection.reached("copy-set.closing")
        let process = ProcessIdentity.process(ofThread: closer)
        if let opener, let process, opener != process, ProcessIdentity.process(ofThread: opener) != nil { return }
        if ClosingProcess.wasKilled(closer) { return giveUp(waits: false) }
        if let isOpenStill = ClosingProcess.keepsDescriptor(closer, forPathEndingWith: pathEnding) {
            if isOpenStill { return }
        } else if try draft.status().size == 0 {
            // Perhaps the first of several descriptors: it has to wait until none is left.
            return
        }
        try copy()
    }

    /// - Parameter closer: the thread that closes it, if it is known.
    func release(closer: Int32?) {
        let isLast = state.withLock { state in
            state.openCount -= 1
            return state.openCount == 0
        }
        // No program gets the answer; the set reports it.
        if isLast { try? copy() }
    }

    /// Whether its bytes still come. Never waits.
    var isBeingWritten: Bool { state.withLock { $0.isWriting } }

    /// The draft, while the file is not copied.
    var openDraft: CopySet.Draft? { state.wait(until: { !$0.isCopying }) { $0.isWriting ? draft : nil } }
}

/// A file while a program copies it, as it was opened.
private final class OpenDroppedCopy: OpenFile {
    let keepsCache = false
    let usesDirectIO = true
    private let file: DroppedCopy
    /// The process; `nil` when it is unknown.
    private let opener: Int32?

    init(_ file: DroppedCopy, process: Int32) {
        self.file = file
        opener = ProcessIdentity.process(ofThread: process)
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try file.draft.read(at: offset, into: buffer)
    }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try file.write { () throws(BackupError) in try file.draft.write(bytes, at: offset) }
    }

    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        try copyBytes(from: source, at: sourceOffset, to: offset, count: count)
    }

    func flush(process: Int32) throws(BackupError) { try file.flush(opener: opener, closer: process) }
    func synchronize() throws(BackupError) { try file.draft.synchronize() }
    func release() { file.release(closer: nil) }
}

/// The files that programs copy into sets at this moment.
final class DroppedCopies: Sendable {
    private struct Key: Hashable, Sendable {
        let set: String
        let path: [FileName]
    }

    private struct State {
        var copies: [Key: DroppedCopy] = [:]
        /// Those whose drafts are being made.
        var making: Set<Key> = []
    }

    private let state = Monitor(State())

    func copy(at path: [FileName], in set: CopySet) -> DroppedCopy? {
        state.withLock { $0.copies[Key(set: set.place.name, path: path)] }
    }

    /// - Returns: the one that is there, if another program has begun it.
    func make(at path: [FileName], in set: CopySet, permissions: mode_t) throws(BackupError) -> DroppedCopy {
        let key = Key(set: set.place.name, path: path)
        let there = state.wait(until: { !$0.making.contains(key) }) { state -> DroppedCopy? in
            if let there = state.copies[key] { return there }
            state.making.insert(key)
            return nil
        }
        if let there { return there }
        var made: DroppedCopy?
        defer {
            state.changeWakingAll { state in
                state.copies[key] = made
                state.making.remove(key)
            }
        }
        let copy = DroppedCopy(try set.makeDraft(path, permissions: permissions), in: set, self)
        made = copy
        return copy
    }

    func take(_ copy: DroppedCopy) {
        state.withLock { state in state.copies = state.copies.filter { $0.value !== copy } }
    }

    func move(_ copy: DroppedCopy, to path: [FileName], in set: CopySet) {
        state.withLock { state in
            state.copies = state.copies.filter { $0.value !== copy }
            state.copies[Key(set: set.place.name, path: path)] = copy
        }
    }

    /// The files that are copied into a folder at this moment.
    func names(in folder: [FileName], of set: CopySet) -> [FileName] {
        state.withLock { state in
            state.copies.keys.compactMap {
                $0.set == set.place.name && $0.path.dropLast().elementsEqual(folder) ? $0.path.last : nil
            }
        }
    }
}
