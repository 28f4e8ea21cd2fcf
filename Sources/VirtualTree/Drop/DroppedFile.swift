import BackupCore
import Glibc
import SystemIO

/// A file that is copied into `restore/` or `restore/preview/`. Its bytes go to a spool file (`DropContent`); closing it submits
/// it.
///
/// A flush comes for every close(2) of every duplicate of a descriptor, so it does not simply mean "the copy is done". If nothing
/// was written through this open file since the last submission, a flush is a no-op. A flush by the process that opened the file
/// submits what is there. A flush by another process (a child that inherited the descriptor) submits a complete file and leaves
/// an incomplete one alone.
///
/// While the file is checked and restored, its bytes cannot change: what was checked is what is imported.
final class DroppedFile: FileNode {
    private struct State {
        var name: FileName
        var purpose: DropSubmission.Purpose
        var permissions: UInt16
        var modificationTime: Timestamp?
        /// The number of writes.
        var writeCount = 0
        /// The last write that was made by path and not through an open file.
        var lastWriteByPath = 0
        /// The number of writes at the last submission.
        var judgedCount = 0
        /// Writes in progress.
        var changeCount = 0
        var isBeingJudged = false
        var openCount = 0
        /// The content that was accepted last, so that it is never restored twice.
        var acceptedContent: DropContent.Key?
        var failure: BackupError?
        var outcome: DropOutcome?
        var outcomeTime: Timestamp?
        var isDiscarded = false
        /// Whether it was reported that the copy is empty.
        var isEmptinessTold = false
        /// The folder it is in, with the files beside it.
        weak var inbox: DropInbox?

        /// The bytes are no longer needed: the name is gone, and the file is neither open nor being read.
        var isOver: Bool { isDiscarded && openCount == 0 && !isBeingJudged }
        /// A finished copy without content.
        var isEmptyCopy: Bool { writeCount == 0 && openCount == 0 && !DropName.isUnfinished(name) }
    }

    let inode: InodeNumber
    private let context: TreeContext
    let content: DropContent
    private let state: Monitor<State>

    init(
        name: FileName, folder: InodeNumber, inbox: DropInbox, purpose: DropSubmission.Purpose, context: TreeContext
    ) throws(BackupError) {
        let token = RandomToken.make()
        self.context = context
        inode = folder.child(FileName("\(token)/drop"))
        content = try DropContent(
            spoolPath: "\(context.services.spoolPath)/drop-\(token)", repository: context.repository)
        state = Monitor(State(name: name, purpose: purpose, permissions: context.filePermissions, inbox: inbox))
    }

    deinit { content.letGo() }

    /// The name is gone: the file is not submitted any more. Open files keep their bytes, and a running restore continues with
    /// them.
    func discard() { letGo { $0.isDiscarded = true } }

    private func letGo(_ change: (inout State) -> Void) {
        let isOver = state.changeWakingAll { state in
            change(&state)
            return state.isOver
        }
        if isOver { content.discard() }
    }

    /// Runs a change of the bytes.
    /// - Throws: `busy` while they are checked or restored.
    private func changing<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let isAdmitted = state.withLock { state in
            if !state.isBeingJudged { state.changeCount += 1 }
            return !state.isBeingJudged
        }
        guard isAdmitted else { throw isBusy }
        defer { state.changeWakingAll { $0.changeCount -= 1 } }
        return try body()
    }

    private var isBusy: BackupError {
        BackupError(
            .busy, "the file is being written, checked or restored", path: state.withLock { $0.name.description },
            remedy: "Wait until that is done.")
    }

    var outcome: DropOutcome? {
        let (outcome, name, isEmptyCopy) = state.withLock { ($0.outcome, $0.name, $0.isEmptyCopy) }
        if outcome != nil || !isEmptyCopy || content.size > 0 { return outcome }
        return DropOutcome(text: Array(context.services.text("\(name): \(Self.emptiness)").utf8 + [10]), json: [])
    }

    private static let emptiness: Message = "the file is empty. There is nothing in it to restore, and nothing was restored."

    var outcomeTime: Timestamp? { state.withLock { $0.outcomeTime } }

    func attributes() throws(BackupError) -> NodeAttributes {
        let (permissions, time) = state.withLock { ($0.permissions, $0.modificationTime) }
        return NodeAttributes(
            inode: inode, kind: .file, permissions: permissions, size: content.size,
            modificationTime: time ?? content.modificationTime ?? context.mountTime)
    }

    /// Copy programs set times and modes last; they are kept as long as the name is. Owners are not.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        // Setting the current size changes nothing: `truncate -s 0` of a new file submits nothing.
        if let size = change.size, size != content.size {
            try changing { () throws(BackupError) in try content.truncate(to: size) }
            let number = noteWrite()
            state.withLock { $0.lastWriteByPath = number }
        }
        state.withLock { state in
            if let permissions = change.permissions { state.permissions = permissions & 0o777 }
            if let time = change.modificationTime { state.modificationTime = time }
        }
        return try attributes()
    }

    var mimeType: String? { MIMEType.of(state.withLock { $0.name }) }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        let (failure, isEmptyCopy) = state.withLock { ($0.failure, $0.isEmptyCopy) }
        if let failure {
            return [("user.backupfs.error", Message.joined([failure.message] + failure.details, separator: "; ").english)]
        }
        // Its close cannot fail for that: file managers create a file before they write to it.
        return isEmptyCopy && content.size == 0 ? [("user.backupfs.error", Self.emptiness.english)] : []
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        throw BackupError(.notSupported, "a dropped file keeps no extended attributes", path: name)
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        guard try ExtendedAttributes.names(of: self).contains(name) else { throw .noAttribute(name) }
        throw BackupError(.notSupported, "the attributes of a dropped file stay", path: name)
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        state.withLock { $0.openCount += 1 }
        do {
            let descriptor = try OwnedDescriptor.open(content.spoolPath, O_RDWR)
            if flags & O_TRUNC != 0 {
                try changing { () throws(BackupError) in try content.truncate(to: 0) }
                startOver()
            }
            return OpenDrop(self, try SharedFile(descriptor), process: process)
        } catch {
            noteRelease()
            throw error
        }
    }

    func noteRelease() {
        letGo { $0.openCount -= 1 }
        noteEmptiness()
    }

    /// Closing a file that was never written to succeeds, since some programs create a file before they write to it.
    /// `restore/last.*` report it.
    private func noteEmptiness() {
        // Only once: a later read of the file must not replace the report of a restore that happened meanwhile.
        let name = state.withLock { state -> FileName? in
            guard state.isEmptyCopy, !state.isDiscarded, state.purpose != .preview, !state.isEmptinessTold else { return nil }
            state.isEmptinessTold = true
            return state.name
        }
        if let name, content.size == 0 { context.services.noteEmptyDrop(named: name.description) }
    }

    /// A new copy begins under the old name: it is checked again, even if its content is the same.
    private func startOver() {
        state.withLock { state in
            state.acceptedContent = nil
            state.failure = nil
            state.isEmptinessTold = false
            state.modificationTime = nil
        }
    }

    /// Writes through an open file.
    /// - Returns: the write's number, and the result of `body`.
    func write<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> (number: Int, result: Result) {
        let result = try changing(body)
        return (noteWrite(), result)
    }

    private func noteWrite() -> Int {
        state.withLock { state in
            state.writeCount += 1
            state.modificationTime = nil
            return state.writeCount
        }
    }

    /// - Parameters:
    ///   - process: the thread that closes the file.
    ///   - opener: the process that opened it; `nil` when it is unknown.
    ///   - lastWrite: the number of the last write through that open file, 0 for none: only a writer's close submits the file.
    func flush(process: Int32, opener: Int32?, lastWrite: Int) throws(BackupError) {
        let (isNew, name) = state.withLock { state in
            (
                max(lastWrite, state.lastWriteByPath) > state.judgedCount && !state.isDiscarded && !state.isBeingJudged,
                state.name
            )
        }
        guard isNew else { return }
        guard !DropName.isUnfinished(name) else {
            try requireNeededLog(name)
            return try content.noteAsLeft(name)
        }
        // If the closing process is unknown, it is treated as the opener: a rejected copy must not look like a good one.
        let closer = ProcessIdentity.process(ofThread: process)
        if let opener, let closer, closer != opener, try !isComplete() { return try content.noteAsLeft(name) }
        try submitContent()
    }

    /// Renames it. The rename submits it if the new name is the first final one, if the purpose changes, or if the file has not
    /// been accepted so far: a program that writes to a temporary name and then renames it checks only the result of the rename.
    /// - Throws: errors of `submit`; the file then keeps its old name. `busy` while it is checked, and for another purpose while
    ///   it is being written: its parts would be submitted for different purposes.
    func rename(
        to newName: FileName, in newInbox: DropInbox, purpose newPurpose: DropSubmission.Purpose
    ) throws(BackupError) {
        let old = state.withLock { state -> State? in
            let isBeingWritten = state.openCount > 0 && state.writeCount > state.judgedCount
            guard !state.isBeingJudged, state.purpose == newPurpose || !isBeingWritten else { return nil }
            let old = state
            state.name = newName
            state.purpose = newPurpose
            state.inbox = newInbox
            if old.purpose != newPurpose { state.acceptedContent = nil }
            return old
        }
        guard let old else { throw isBusy }
        let isFinal = !DropName.isUnfinished(newName)
        if old.judgedCount < old.writeCount, !isFinal { try content.noteAsLeft(newName) }
        let isUnaccepted = old.writeCount > 0 && (old.failure != nil || old.outcome == nil)
        guard isFinal && (DropName.isUnfinished(old.name) || old.purpose != newPurpose || isUnaccepted) else { return }
        do {
            try submitContent()
        } catch {
            // A copy under the final name still has its source when it fails. This file was complete under the old name, and may
            // be the only copy.
            if old.acceptedContent == nil { try? content.noteAsLeft(old.name) }
            state.withLock { state in
                state.name = old.name
                state.purpose = old.purpose
                state.inbox = old.inbox
            }
            throw error
        }
    }

    /// A log that arrives after its database was restored is useless: a user who moves in both would believe that both were
    /// restored.
    /// - Throws: `invalidContent`.
    private func requireNeededLog(_ name: FileName) throws(BackupError) {
        guard let database = DropName.database(ofLog: name), content.size > 0,
            let inbox = state.withLock({ $0.inbox }), inbox.file(named: database)?.isRestored == true
        else { return }
        let error = BackupError(
            .invalidContent, "the database \(database.description) was restored before its log came, and without what that holds",
            path: name.description, remedy: "Restore both together with: backupfs restore \(database.description)")
        setVerdict(nil, error, nil)
        throw error
    }

    /// Whether it was submitted and accepted.
    private var isRestored: Bool { state.withLock { $0.outcome != nil && $0.failure == nil && $0.purpose != .preview } }

    private func isComplete() throws(BackupError) -> Bool {
        switch try content.submission {
        case .spooled(let path): context.services.isComplete(path)
        case .stored: true
        }
    }

    private func submitContent() throws(BackupError) {
        let hasBegun = state.withLock { state in
            guard !state.isBeingJudged else { return false }
            state.isBeingJudged = true
            return true
        }
        // Another close is already submitting the same content.
        guard hasBegun else { return }
        defer { letGo { $0.isBeingJudged = false } }
        let (name, purpose, accepted) = state.wait(until: { $0.changeCount == 0 }) { state in
            state.judgedCount = state.writeCount
            return (state.name, state.purpose, state.acceptedContent)
        }
        content.forgetAsLeft()
        // A preview changes nothing: it may run twice for the same content, and most content comes only once.
        let key = purpose == .preview ? nil : try content.key()
        if let key, key == accepted { return }
        var confirmation: RestoreConfirmation.Grant?
        do {
            // It is for one restore, also of two that are submitted at once.
            confirmation = purpose.mayNeedConfirmation ? context.confirmation.take() : nil
            let outcome = try context.services.submit(
                DropSubmission(
                    name: name.description, content: content.submission, purpose: purpose, isConfirmed: confirmation != nil))
            setVerdict(key, nil, outcome)
            // `mv` has removed the original.
            if outcome.leavesSome, purpose != .preview { try? content.noteAsLeft(name) }
        } catch {
            if let confirmation { context.confirmation.giveBack(confirmation) }
            let text = Array(context.services.text("\(name): cannot be restored. \(error.fullText)").utf8 + [10])
            setVerdict(nil, error, purpose == .preview ? DropOutcome(text: text, json: []) : nil)
            throw error
        }
    }

    private func setVerdict(_ accepted: DropContent.Key?, _ failure: BackupError?, _ outcome: DropOutcome?) {
        state.withLock { state in
            state.acceptedContent = accepted
            state.failure = failure
            state.outcome = outcome
            state.outcomeTime = SystemClock.now()
        }
    }
}
