import BackupCore
import Glibc
import SystemIO

/// A file that is copied into `restore/` or `restore/preview/`. Its bytes go to a spool file (`DropContent`); closing it hands it in.
///
/// flush comes for every close(2) of every duplicate of a descriptor, so it is not simply "the copy is done":
/// nothing written through this open file since the last hand-in means nothing happens; a flush by the process that opened the file is a verdict
/// on what is there; a flush by another process (a child that inherited the descriptor) hands in what is complete and lets the incomplete be.
///
/// While it is judged and restored, its bytes stand still: what was checked is what is imported.
final class DroppedFile: FileNode {
    private struct State {
        var name: FileName
        var purpose: DropSubmission.Purpose
        var permissions: UInt16
        var modificationTime: Timestamp?
        /// How often it was written to.
        var writeCount = 0
        /// The last of these writes that was made by path, and not through an open file.
        var lastWriteByPath = 0
        /// How many of these writes were there when it was last handed in.
        var judgedCount = 0
        /// Writes that are under way.
        var changeCount = 0
        var isBeingJudged = false
        var openCount = 0
        /// The content that was accepted last, so that it is never restored twice.
        var acceptedContent: DropContent.Key?
        var failure: BackupError?
        var outcome: DropOutcome?
        var outcomeTime: Timestamp?
        var isDiscarded = false
        /// That it was copied in with nothing in it.
        var isEmptinessTold = false
        /// Where it lies, which has the files beside it.
        weak var inbox: DropInbox?

        /// The bytes are needed no more: the name is gone, and nothing has them open or reads them.
        var isOver: Bool { isDiscarded && openCount == 0 && !isBeingJudged }
        /// It was copied in, with nothing in it.
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

    /// The name is gone: nothing of it is handed in any more. Open files keep their bytes, and a restore that runs goes on with them.
    func discard() { letGo { $0.isDiscarded = true } }

    private func letGo(_ change: (inout State) -> Void) {
        let isOver = state.changeWakingAll { state in
            change(&state)
            return state.isOver
        }
        if isOver { content.discard() }
    }

    /// Runs what changes the bytes.
    /// - Throws: `busy` while they are judged or restored.
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

    /// Times and modes are what copy programs set last; they are kept for as long as the name is. Owners are not.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        // A size that it has already changes nothing: `truncate -s 0` of a new file hands nothing in.
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
        // It cannot be refused at its close: file managers make a file before they write to it.
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

    /// The close of a file that was never written to succeeds, since some programs make a file before they write to it: `restore/last.*` tell it.
    private func noteEmptiness() {
        // Once: who looks into it later must not take the place of what was restored meanwhile.
        let name = state.withLock { state -> FileName? in
            guard state.isEmptyCopy, !state.isDiscarded, state.purpose != .preview, !state.isEmptinessTold else { return nil }
            state.isEmptinessTold = true
            return state.name
        }
        if let name, content.size == 0 { context.services.noteEmptyDrop(named: name.description) }
    }

    /// A new copy begins under the old name: whatever comes is judged anew, even if it is the same content.
    private func startOver() {
        state.withLock { state in
            state.acceptedContent = nil
            state.failure = nil
            state.isEmptinessTold = false
            state.modificationTime = nil
        }
    }

    /// Writes by way of an open file.
    /// - Returns: the write's number, and what `body` returns.
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
    ///   - process: who closes.
    ///   - opener: the process that opened; `nil` when that cannot be told.
    ///   - lastWrite: the number of the last write through that open file, 0 for none: only those who wrote close the file for good.
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
        // Where it cannot be told who closes it is the opener: a copy that is refused must not pass for a good one.
        let closer = ProcessIdentity.process(ofThread: process)
        if let opener, let closer, closer != opener, try !isComplete() { return try content.noteAsLeft(name) }
        try handIn()
    }

    /// Gives it another name. That hands it in when the new name is the first that says that it is finished, or when it means something else; and also
    /// when it has not been accepted so far: a program that writes a file under a name of its own and then renames it looks at this answer only.
    /// - Throws: what `submit` says; the file then keeps its old name. `busy` while it is judged, and for another meaning while it is being written: what
    ///   of it came before would be judged as the one, and the rest as the other.
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
            try handIn()
        } catch {
            // A copy under the final name fails with its source still there. This one was complete under the old name, and may be the only one.
            if old.acceptedContent == nil { try? content.noteAsLeft(old.name) }
            state.withLock { state in
                state.name = old.name
                state.purpose = old.purpose
                state.inbox = old.inbox
            }
            throw error
        }
    }

    /// A log that comes after its database was restored is of no use any more: whoever moves both in would believe that both were restored.
    /// - Throws: `invalidContent`.
    private func requireNeededLog(_ name: FileName) throws(BackupError) {
        guard let database = DropName.database(ofLog: name), content.size > 0,
            let inbox = state.withLock({ $0.inbox }), inbox.file(named: database)?.isRestored == true
        else { return }
        let error = BackupError(
            .invalidContent, "the database \(database.description) was restored before its log came, and without what that holds",
            path: name.description, remedy: "Restore both together with: backupfs restore \(database.description)")
        judge(nil, error, nil)
        throw error
    }

    /// Whether it was handed in and taken.
    private var isRestored: Bool { state.withLock { $0.outcome != nil && $0.failure == nil && $0.purpose != .preview } }

    private func isComplete() throws(BackupError) -> Bool {
        switch try content.submission {
        case .spooled(let path): context.services.isComplete(path)
        case .stored: true
        }
    }

    private func handIn() throws(BackupError) {
        let hasBegun = state.withLock { state in
            guard !state.isBeingJudged else { return false }
            state.isBeingJudged = true
            return true
        }
        // Another close has handed in the same content in the meantime.
        guard hasBegun else { return }
        defer { letGo { $0.isBeingJudged = false } }
        let (name, purpose, accepted) = state.wait(until: { $0.changeCount == 0 }) { state in
            state.judgedCount = state.writeCount
            return (state.name, state.purpose, state.acceptedContent)
        }
        content.forgetAsLeft()
        // Nothing is done by a preview: it may be made twice of the same content, and most content comes once.
        let key = purpose == .preview ? nil : try content.key()
        if let key, key == accepted { return }
        do {
            let outcome = try context.services.submit(
                DropSubmission(name: name.description, content: content.submission, purpose: purpose))
            judge(key, nil, outcome)
            // `mv` has removed the original.
            if outcome.leavesSome, purpose != .preview { try? content.noteAsLeft(name) }
        } catch {
            let text = Array(context.services.text("\(name): cannot be restored. \(error.fullText)").utf8 + [10])
            judge(nil, error, purpose == .preview ? DropOutcome(text: text, json: []) : nil)
            throw error
        }
    }

    private func judge(_ accepted: DropContent.Key?, _ failure: BackupError?, _ outcome: DropOutcome?) {
        state.withLock { state in
            state.acceptedContent = accepted
            state.failure = failure
            state.outcome = outcome
            state.outcomeTime = SystemClock.now()
        }
    }
}
