import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A file somebody copies into `restore/` or `restore/preview/`. Its bytes go to a spool file (`DropContent`); closing it hands it in.
///
/// flush comes for every close(2) of every duplicate of a descriptor, so it is not simply "the copy is done":
/// nothing written since the last flush means nothing happens; a flush by the process that opened the file is a verdict on what is there;
/// a flush by another process (a child that inherited the descriptor) hands in what is complete and lets the incomplete be.
final class DroppedFile: FileNode {
    private struct State {
        var name: FileName
        var purpose: DropSubmission.Purpose
        var permissions: UInt16
        var modificationTime: Timestamp?
        /// Written to since it was last handed in or judged.
        var hasUnjudgedWrites = false
        /// The content that was accepted last, so that it is never restored twice.
        var acceptedContent: DropContent.Key?
        var failure: BackupError?
        var outcome: DropOutcome?
        var outcomeTime: Timestamp?
        var isDiscarded = false
    }

    let inode: InodeNumber
    private let context: TreeContext
    let content: DropContent
    private let state: Mutex<State>

    init(name: FileName, folder: InodeNumber, purpose: DropSubmission.Purpose, context: TreeContext) throws(BackupError) {
        let token = RandomToken.make()
        self.context = context
        inode = folder.child(FileName("\(token)/drop"))
        content = try DropContent(
            spoolPath: "\(context.services.spoolPath)/drop-\(token)", repository: context.repository)
        state = Mutex(State(name: name, purpose: purpose, permissions: context.filePermissions))
    }

    deinit { content.discard() }

    /// The name is gone: nothing of it is handed in any more.
    func discard() {
        state.withLock { $0.isDiscarded = true }
        content.discard()
    }

    var outcome: DropOutcome? { state.withLock { $0.outcome } }
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
            try content.truncate(to: size)
            noteWrite()
        }
        state.withLock { state in
            if let permissions = change.permissions { state.permissions = permissions & 0o777 }
            if let time = change.modificationTime { state.modificationTime = time }
        }
        return try attributes()
    }

    var mimeType: String? { MIMEType.of(state.withLock { $0.name }) }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        guard let failure = state.withLock({ $0.failure }) else { return [] }
        return [("user.backupfs.error", Message.joined([failure.message] + failure.details, separator: "; ").english)]
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        throw BackupError(.notSupported, "a dropped file keeps no extended attributes", path: name)
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        guard try ExtendedAttributes.names(of: self).contains(name) else { throw .noAttribute(name) }
        throw BackupError(.notSupported, "the attributes of a dropped file stay", path: name)
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        let descriptor = try OwnedDescriptor.open(content.spoolPath, O_RDWR)
        if flags & O_TRUNC != 0 {
            try content.truncate(to: 0)
            startOver()
        }
        return OpenDrop(self, try SharedFile(descriptor), process: process)
    }

    /// A new copy begins under the old name: whatever comes is judged anew, even if it is the same content.
    func startOver() {
        state.withLock { state in
            state.acceptedContent = nil
            state.failure = nil
            state.modificationTime = nil
        }
    }

    func noteWrite() {
        state.withLock { state in
            state.hasUnjudgedWrites = true
            state.modificationTime = nil
        }
    }

    /// - Parameters:
    ///   - process: who closes.
    ///   - opener: who opened.
    func flush(process: Int32, opener: Int32) throws(BackupError) {
        let mustJudge = state.withLock { state in
            state.hasUnjudgedWrites && !state.isDiscarded && !DropName.isUnfinished(state.name)
        }
        guard mustJudge else { return }
        let isOpener = process == opener || ProcessIdentity.process(ofThread: process) == opener
        if !isOpener, try !isComplete() { return }
        try handIn()
    }

    /// - Throws: what `submit` says; the file then keeps its old name.
    func rename(to newName: FileName, purpose newPurpose: DropSubmission.Purpose) throws(BackupError) {
        let (old, oldPurpose) = state.withLock { ($0.name, $0.purpose) }
        let isFinal = !DropName.isUnfinished(newName)
        let means = isFinal && (DropName.isUnfinished(old) || oldPurpose != newPurpose)
        state.withLock { state in
            state.name = newName
            state.purpose = newPurpose
            if oldPurpose != newPurpose { state.acceptedContent = nil }
        }
        guard means else { return }
        do {
            try handIn()
        } catch {
            state.withLock { state in
                state.name = old
                state.purpose = oldPurpose
            }
            throw error
        }
    }

    private func isComplete() throws(BackupError) -> Bool {
        switch try content.submission {
        case .spooled(let path): context.services.isComplete(path)
        case .stored: true
        }
    }

    private func handIn() throws(BackupError) {
        let (name, purpose, accepted) = state.withLock { state in
            state.hasUnjudgedWrites = false
            return (state.name, state.purpose, state.acceptedContent)
        }
        // Nothing is done by a preview: it may be made twice of the same content, and most content comes once.
        let key = purpose == .preview ? nil : try content.key()
        if let key, key == accepted { return }
        do {
            let outcome = try context.services.submit(
                DropSubmission(name: name.description, content: content.submission, purpose: purpose))
            judge(key, nil, outcome)
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
