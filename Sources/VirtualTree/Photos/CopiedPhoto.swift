import BackupCore
import Glibc
import Photos
import SystemIO

/// A file that is copied into `photos/starred/`. Closing it keeps its bytes in the store, and stars the photo of the app's media
/// folder that has them; then the folder shows the star in its place. close(2) fails when no photo has the bytes: a program that
/// moves a file removes the original after it.
///
/// As in `restore/`, a flush by another process than the one that opened the file does not mean that the copy is done: without a
/// photo, nothing is decided. Unlike there, a temporary name makes no difference: what close(2) has reported as written is kept.
final class CopiedPhoto: FileNode {
    private struct State {
        var name: FileName
        var permissions: UInt16
        /// As set by the program, which keeps nothing of it: a star has the time of its photo.
        var modificationTime: Timestamp?
        /// There while the file is open.
        var draft: CopyDraft?
        var openCount = 0
        /// Changes of the bytes so far, and those in progress.
        var writeCount = 0
        var changeCount = 0
        /// The number of changes when the bytes were judged last, and a program got the answer.
        var judgedCount = 0
        /// Whether programs have closed it without learning that no photo has its bytes.
        var isUnclaimed = false
        var isBeingJudged = false
        var failure: BackupError?
        var starred: (content: SHA256Digest, sizeBytes: UInt64)?
        /// Whether the name was removed, or given to another file.
        var isGone = false
    }

    let inode: InodeNumber
    private let context: TreeContext
    /// The star whose name it has: it can only be written over with the same bytes.
    private let replaced: StarredPhoto?
    private let state: Monitor<State>

    /// - Parameter folder: the number of `photos/starred/`.
    init(name: FileName, folder: InodeNumber, over replaced: StarredPhoto? = nil, context: TreeContext) {
        self.context = context
        self.replaced = replaced
        inode = folder.child(FileName("\(RandomToken.make())/copy"))
        state = Monitor(State(name: name, permissions: context.filePermissions))
    }

    var looksAtTheStore: Bool { true }
    var mimeType: String? { MIMEType.of(state.withLock { $0.name }) }

    func attributes() throws(BackupError) -> NodeAttributes {
        let state = state.withLock { $0 }
        let status = try state.draft?.status()
        return NodeAttributes(
            inode: inode, kind: .file, permissions: state.permissions, size: status?.size ?? state.starred?.sizeBytes ?? 0,
            modificationTime: state.modificationTime ?? status?.modificationTime ?? context.mountTime)
    }

    /// Copy programs set times and modes last. Owners are not kept.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        if let size = change.size, try size != attributes().size {
            _ = try write { (draft) throws(BackupError) in try draft.truncate(to: size) }
        }
        state.withLock { state in
            if let permissions = change.permissions { state.permissions = permissions & 0o777 }
            if let time = change.modificationTime { state.modificationTime = time }
        }
        return try attributes()
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        throw BackupError(.notSupported, "a star keeps no extended attributes of a copy", path: name)
    }

    // MARK: Opening and writing

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        let (starred, held) = state.withLock { ($0.starred, $0.draft) }
        if let starred {
            guard !flags.asksToWrite else { throw isBusy }
            return OpenSharedFile(try context.services.openKeptPhoto(starred.content, orPhoto: nil))
        }
        let made: CopyDraft
        if let held { made = held } else { made = try context.services.makePhotoDraft() }
        let draft = state.withLock { state in
            let draft = state.draft ?? made
            state.draft = draft
            state.openCount += 1
            return draft
        }
        if draft !== made { made.discard() }
        let open = OpenCopy(self, process: process)
        do throws(BackupError) {
            // Without any bytes, it is still a change of those that are there.
            let hasBytes = try draft.status().size > 0
            if flags & O_TRUNC != 0, hasBytes || replaced != nil { try open.truncate() }
        } catch {
            release(lastWrite: 0)
            throw error
        }
        return open
    }

    private var isBusy: BackupError {
        BackupError(
            .busy, "the photo is being starred, or is starred already", path: state.withLock { $0.name.description },
            remedy: "Copy it again.")
    }

    /// Runs a change of the bytes.
    /// - Returns: its number, and the result of `body`.
    func write<Result>(_ body: (CopyDraft) throws(BackupError) -> Result) throws(BackupError) -> (number: Int, result: Result) {
        let draft = state.withLock { state -> CopyDraft? in
            guard let draft = state.draft, !state.isBeingJudged, state.starred == nil else { return nil }
            state.changeCount += 1
            state.writeCount += 1
            state.modificationTime = nil
            return draft
        }
        guard let draft else { throw isBusy }
        defer { state.changeWakingAll { $0.changeCount -= 1 } }
        let result = try body(draft)
        return (state.withLock { $0.writeCount }, result)
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard let draft = state.withLock({ $0.draft }) else { return 0 }
        return try draft.read(at: offset, into: buffer)
    }

    func synchronize() throws(BackupError) { try state.withLock { $0.draft }?.synchronize() }

    /// What a program that writes over a star finds in place of it.
    var sizeOverStar: UInt64? { replaced == nil ? nil : state.withLock { $0.draft }.flatMap { try? $0.status().size } }

    // MARK: Closing

    private enum Step {
        /// The last number is that of the changes that were judged before.
        case judging(CopyDraft, FileName, Int)
        case judged(BackupError?)
    }

    /// Keeps the bytes and stars the photo. A second close at the same time waits for the first, and gets the same answer.
    /// - Parameter mayBePart: whether more bytes may follow: then it is no failure that no photo has those that are there.
    func judge(mayBePart: Bool = false) throws(BackupError) {
        let step = state.wait(until: { !$0.isBeingJudged && $0.changeCount == 0 }) { state -> Step in
            guard state.starred == nil, state.judgedCount < state.writeCount, let draft = state.draft else {
                return .judged(state.failure)
            }
            state.isBeingJudged = true
            defer { state.judgedCount = state.writeCount }
            return .judging(draft, state.name, state.judgedCount)
        }
        let failure: BackupError?
        switch step {
        case .judged(let known): failure = known
        case .judging(let draft, let name, let judgedCount):
            let result = Result { () throws(BackupError) in
                let size = try draft.status().size
                let content = try context.services.starPhoto(draft, named: name, over: replaced) { [state] in
                    state.withLock { !$0.isGone }
                }
                return (content: content, sizeBytes: size)
            }
            let isPart = mayBePart && isOfNoPhoto(result)
            failure = state.changeWakingAll { state in
                state.isBeingJudged = false
                switch result {
                case .success(let starred): (state.starred, state.failure) = (starred, nil)
                // The program that closes it next is asked again.
                case .failure where isPart: (state.judgedCount, state.failure) = (judgedCount, nil)
                case .failure(let error): state.failure = error
                }
                return state.failure
            }
            // From now on the name is that of a star, or of nothing.
            if !isPart, !DropName.isUnfinished(name) { context.copiedPhotos.take(self) }
        }
        if let failure { throw failure }
    }

    /// Whether the bytes are complete, and of no photo, or incomplete.
    private func isOfNoPhoto(_ result: Result<some Any, BackupError>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return error.code == .invalidArgument || error.code == .alreadyExists && replaced != nil
    }

    /// - Parameter lastWrite: the number of the last change through that open file; 0 for none.
    func release(lastWrite: Int) {
        // A program that has received a signal need not wait for the answer to its close(2).
        state.wait(until: { !$0.isBeingJudged && $0.changeCount == 0 }) { _ in }
        // The opener may have ended before its child: then no close was its own.
        if lastWrite > state.withLock({ $0.judgedCount }) {
            do throws(BackupError) {
                try judge()
            } catch {
                // No program knows, and some have removed the original by now.
                state.withLock { $0.isUnclaimed = true }
            }
        }
        let (draft, isOver, isUnclaimed, name) = state.withLock { state -> (CopyDraft?, Bool, Bool, FileName) in
            state.openCount -= 1
            guard state.openCount == 0 else { return (nil, false, false, state.name) }
            defer { state.draft = nil }
            let isUnclaimed = state.isUnclaimed && state.starred == nil && !state.isGone
            return (state.draft, !DropName.isUnfinished(state.name) || state.failure != nil, isUnclaimed, state.name)
        }
        if let draft, isUnclaimed { context.services.setAside(draft, named: name) } else { draft?.discard() }
        // What has no bytes is nothing: some programs create a file before they write to it.
        if isOver { context.copiedPhotos.take(self) }
    }

    // MARK: Names

    /// The name is gone.
    /// - Returns: the bytes that it has starred; `nil` if nothing was starred, which then stays so.
    func discard() -> SHA256Digest? {
        state.withLock { $0.isGone = true }
        return state.wait(until: { !$0.isBeingJudged }) { $0.starred?.content }
    }

    /// The bytes that it has starred, once that is decided; `nil` while it is written.
    /// - Throws: why it could not be starred.
    func starredContent() throws(BackupError) -> SHA256Digest? {
        let (failure, starred) = state.wait(until: { !$0.isBeingJudged }) { ($0.failure, $0.starred?.content) }
        if let failure { throw failure }
        return starred
    }

    /// Gives it another name.
    /// - Returns: whether the folder still shows it: it is open, or has a temporary name.
    func rename(to name: FileName) -> Bool {
        state.withLock { state in
            state.name = name
            return DropName.isUnfinished(name) || state.openCount > 0 && state.starred == nil
        }
    }
}

/// A copy while it is open.
private final class OpenCopy: OpenFile {
    let keepsCache = false
    let usesDirectIO = true
    private let file: CopiedPhoto
    /// The process; `nil` when it is unknown.
    private let opener: Int32?

    private struct State {
        /// The number of the last change through this open file; 0 before the first.
        var lastWrite = 0
        /// Processes that have written since they have closed it last.
        var writers: Set<Int32> = []
        /// The thread that has written last, which is among them.
        var lastThread: Int32?
    }

    private let state = Monitor(State())

    init(_ file: CopiedPhoto, process: Int32) {
        self.file = file
        opener = ProcessIdentity.process(ofThread: process)
    }

    var size: UInt64? { file.sizeOverStar }

    private func note(_ number: Int) { state.withLock { $0.lastWrite = max($0.lastWrite, number) } }

    func noteWriter(_ process: Int32) {
        guard state.withLock({ $0.lastThread != process }) else { return }
        guard let writer = ProcessIdentity.process(ofThread: process) else { return }
        state.withLock { state in
            state.lastThread = process
            state.writers.insert(writer)
        }
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try file.read(at: offset, into: buffer)
    }

    func truncate() throws(BackupError) {
        note(try file.write { (draft) throws(BackupError) in try draft.truncate(to: 0) }.number)
    }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        note(try file.write { (draft) throws(BackupError) in try draft.write(bytes, at: offset) }.number)
    }

    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        try copyBytes(from: source, at: sourceOffset, to: offset, count: count)
    }

    /// A flush comes for each close(2) of each duplicate of the descriptor, also of those that children inherit.
    func flush(process: Int32) throws(BackupError) {
        let closer = ProcessIdentity.process(ofThread: process)
        let (hasBytes, hasWritten, others) = state.withLock { state in
            state.lastThread = nil
            let hasWritten = closer.map { state.writers.remove($0) != nil } ?? true
            return (state.lastWrite > 0, hasWritten, state.writers)
        }
        guard hasBytes else { return }
        // In the middle of a copy by another process, which closes it later.
        if !hasWritten, others.contains(where: { ProcessIdentity.process(ofThread: $0) != nil }) { return }
        // A child may have written a part. Its parent closes it, too, unless it is gone.
        let isOfOpener = opener.map { $0 == closer || ProcessIdentity.process(ofThread: $0) == nil } ?? true
        try file.judge(mayBePart: closer != nil && !isOfOpener)
    }

    func synchronize() throws(BackupError) { try file.synchronize() }

    func release() { file.release(lastWrite: state.withLock { $0.lastWrite }) }
}
