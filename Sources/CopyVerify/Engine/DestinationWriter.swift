import BackupCore
import SystemIO

/// Writes the files of one destination, on its own thread and at its own pace, and passes them on in batches.
final class DestinationWriter {
    private let destination: Destination
    private let context: CopyContext
    private let finisher: WorkQueue<Batch?>
    private let folders: TargetFolders
    private let attributes: CopiedAttributes
    private let buffers = (AlignedBuffer(), AlignedBuffer())
    private var batch = Batch()
    private var file: TargetFile?
    private var countedBytes: UInt64 = 0
    /// Why the present file is not copied.
    private var failure: BackupError?
    /// Whether that is the failure of the destination, which another file has reported.
    private var isDropped = false

    /// - Parameter finisher: gets the batches, and `nil` at the end.
    init(_ destination: Destination, _ context: CopyContext, finisher: WorkQueue<Batch?>) {
        self.destination = destination
        self.context = context
        self.finisher = finisher
        folders = TargetFolders(destination, keepsLast: context.keepsFolders)
        attributes = CopiedAttributes(destination: destination.place, problems: context.problems)
    }

    /// - Returns: whether more commands follow.
    func execute(_ command: WriterCommand) -> Bool {
        switch command {
        case .folder(let folder): make(folder)
        case .small(let task, let block):
            attempt { () throws(BackupError) in try begin(task) }
            if let block { add(block, at: 0) }
            finish(task)
        case .begin(let task): attempt { () throws(BackupError) in try begin(task) }
        case .data(let block, let offset): add(block, at: offset)
        case .end(let task): finish(task)
        case .abandon(let task, let error): abandon(task, error)
        case .link(let task): link(task)
        case .flush: passOn()
        case .finish:
            passOn()
            finisher.push(nil)
            return false
        }
        return true
    }

    /// Runs the next step of the present file, unless an earlier one has failed.
    private func attempt(_ body: () throws(BackupError) -> Void) {
        guard failure == nil else { return }
        do throws(BackupError) {
            if context.mustStop { throw CopyContext.cancelled }
            if let error = destination.error {
                isDropped = true
                throw error
            }
            try body()
        } catch {
            failure = error
            file?.abandon()
            file = nil
            if Destination.isOfDevice(error) { destination.fail(error) }
        }
    }

    private func count(_ bytes: UInt64) {
        countedBytes += bytes
        destination.writtenBytes.add(bytes, ordering: .relaxed)
    }

    // MARK: Folders

    private func make(_ folder: SourceFolder) {
        guard destination.error == nil, !context.mustStop else { return }
        do throws(BackupError) {
            let handle = try folders.openOrMake(folder.components) { batch.changedFolders.insert($0) }
            if context.isResumed { try UnfinishedCopies.remove(from: handle, of: [context.token]) }
        } catch {
            if Destination.isOfDevice(error) { destination.fail(error) }
            context.problems.add(error)
        }
    }

    private func open(_ folder: SourceFolder) throws(BackupError) -> DirectoryHandle {
        try folders.openOrMake(folder.components) { batch.changedFolders.insert($0) }
    }

    // MARK: Files

    private func begin(_ task: FileTask) throws(BackupError) {
        try FaultInjection.reached("copy.file-begun")
        countedBytes = 0
        let folder = try open(task.folder)
        file = try TargetFile(
            task, in: folder, isInNewFolder: folders.isLastNew, of: destination, context, buffers: buffers)
    }

    private func add(_ block: BlockPool.Block, at offset: UInt64) {
        attempt { () throws(BackupError) in
            try file?.add(block.bytes, at: offset)
            try FaultInjection.reached("copy.block-written")
        }
        destination.waitingBytes.subtract(UInt64(block.count), ordering: .relaxed)
        if failure == nil { count(UInt64(block.count)) }
    }

    private func finish(_ task: FileTask) {
        var outcome: WrittenFile.Outcome?
        attempt { () throws(BackupError) in
            outcome = try file?.finish(attributes)
            try FaultInjection.reached("copy.file-written")
        }
        let target = file?.target ?? task.name
        file = nil
        // Holes need no writing.
        if outcome != nil { count(task.status.size.subtractingSaturating(countedBytes)) }
        add(task, outcome, target: target)
    }

    private func abandon(_ task: FileTask, _ error: BackupError?) {
        file?.abandon()
        file = nil
        guard let error else {
            // It is read once more, and fails once more then.
            failure = nil
            return
        }
        if failure == nil { failure = error }
        add(task, nil, target: task.name)
    }

    private func link(_ task: FileTask) {
        var outcome: WrittenFile.Outcome?
        var target = task.name
        attempt { () throws(BackupError) in
            let folder = try open(task.folder)
            var number = 1
            while try folder.statusIfPresent(target) != nil {
                if try folder.readLinkIfPresent(target) == task.linkTarget {
                    outcome = .linked(isNew: false)
                    return
                }
                number += 1
                guard destination.mayRename, number < CopyNames.numberLimit else { throw destination.conflict(folder, target) }
                target = CopyNames.numbered(task.name, number)
            }
            try destination.requireRoom(for: target, in: folder)
            try makeLink(task, target, in: folder)
            outcome = .linked(isNew: true)
        }
        add(task, outcome, target: target)
    }

    /// Under a temporary name first: a link that is found under its name has its time, whenever the program is killed.
    private func makeLink(_ task: FileTask, _ target: FileName, in folder: DirectoryHandle) throws(BackupError) {
        let name = CopyNames.temporary(of: task.name, token: context.token, number: destination.nextNumber())
        do throws(BackupError) {
            try folder.createLink(name, to: task.linkTarget ?? [], modificationTime: task.status.modificationTime)
            try FaultInjection.reached("copy.link-made")
            try folder.move(name, to: folder, as: target)
        } catch {
            try? folder.removeFile(name)
            throw error.code == .alreadyExists ? destination.conflict(folder, target) : error
        }
    }

    // MARK: Batches

    /// - Parameter written: `nil` when the file has failed.
    private func add(_ task: FileTask, _ written: WrittenFile.Outcome?, target: FileName) {
        let outcome = written ?? .failed(failure ?? CopyContext.cancelled, isDropped: isDropped)
        failure = nil
        isDropped = false
        batch.files.append(WrittenFile(task: task, outcome: outcome, target: target))
        switch outcome {
        case .written:
            batch.byteCount += task.status.size
            batch.changedFolders.insert(task.folder.components)
        // One that is there may have got its name a moment ago, by another run.
        case .linked, .present: batch.changedFolders.insert(task.folder.components)
        case .failed: break
        }
        let isLarge = task.status.size >= Batch.largeFileBytes && task.linkTarget == nil
        if batch.isFull || isLarge { passOn() }
    }

    private func passOn() {
        guard !batch.isEmpty else { return }
        finisher.push(batch)
        batch = Batch()
    }
}
