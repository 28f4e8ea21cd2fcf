import BackupCore
import SystemIO

/// Reads the source once, and passes its blocks to the hashers and to all destinations that need them.
final class SourceReader: SourceVisitor {
    private static let smallByteCount = 64 << 10
    private static let attemptLimit = 3
    /// Far fewer than there are small blocks.
    private static let pendingLimit = 16

    private let context: CopyContext
    private let destinations: [Destination]
    private let queues: [WorkQueue<WriterCommand>]
    private let hasher: SourceHasher
    private let load: SourceLoad
    private let manifest: SourceManifest?
    /// Whether other programs may write to the source.
    private let isShared: Bool
    /// Called between blocks: waits while the job is paused.
    private let pace: () throws(BackupError) -> Void
    // 52 MiB in all.
    private let blocks = BlockPool(blockSizeBytes: 1 << 20, limit: 36)
    private let smallBlocks = BlockPool(blockSizeBytes: smallByteCount, limit: 256)
    private var digester: FileDigester
    private let ahead: SourceReadAhead
    /// Commands of small files, which are passed on together: each passing wakes the threads of the destinations.
    private var pending: [[WriterCommand]]
    private var pendingCount = 0
    /// Files and links, whether they needed a copy or not.
    private(set) var visitedCount: UInt64 = 0

    /// - Parameters:
    ///   - queues: for each destination its own.
    ///   - isShared: whether other programs may write to the source.
    init(
        _ context: CopyContext, _ destinations: [Destination], _ queues: [WorkQueue<WriterCommand>], _ hasher: SourceHasher,
        _ load: SourceLoad, _ manifest: SourceManifest?, isShared: Bool = true, pace: @escaping () throws(BackupError) -> Void
    ) {
        self.context = context
        self.destinations = destinations
        self.queues = queues
        self.hasher = hasher
        self.load = load
        self.manifest = manifest
        self.isShared = isShared
        self.pace = pace
        digester = FileDigester(context.algorithms)
        ahead = SourceReadAhead(smallBlocks, limitBytes: UInt64(Self.smallByteCount), load)
        pending = queues.map { _ in [] }
    }

    // MARK: The walk

    var lookAheadCount: Int { SourceReadAhead.fileCount }

    func open(early name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle) -> FileStatus? {
        // A job that goes on has most of its files already.
        context.isResumed ? nil : ahead.open(name, in: folder, handle)
    }

    /// Passes on what waits to be passed on with more.
    func passOn() {
        guard pendingCount > 0 else { return }
        let start = SystemClock.monotonicNanoseconds()
        for index in queues.indices where !pending[index].isEmpty {
            queues[index].push(pending[index])
            pending[index].removeAll(keepingCapacity: true)
        }
        pendingCount = 0
        load.addWaiting(since: start)
    }

    /// To be called after the walk.
    func end() {
        passOn()
        ahead.end()
    }

    func enter(_ folder: SourceFolder, _ handle: DirectoryHandle, names: [FileName]) throws(BackupError) {
        try pace()
        passOn()
        for queue in queues { queue.push(.folder(folder)) }
    }

    func leave(_ folder: SourceFolder, _ handle: DirectoryHandle) {}

    /// Counted before the copy.
    func skipHidden(_ count: Int) {}

    func miss(_ path: [UInt8]) {
        context.problems.add(
            BackupError(
                .notFound, "removed while the source was copied", path: "\(context.source.path)/\(MessageText.name(path))"))
    }

    func fail(_ path: [UInt8], _ error: BackupError) {
        context.problems.add(error.at("\(context.source.path)/\(MessageText.name(path))"))
    }

    func visit(
        _ name: FileName, _ status: FileStatus, in folder: SourceFolder, _ handle: DirectoryHandle
    ) throws(BackupError) {
        try pace()
        let early = status.kind == .regular ? ahead.take(name, in: folder) : nil
        let path = folder.path(of: name)
        switch status.kind {
        case .directory: return
        case .other:
            let kind: Message = status.isSocket ? "a socket" : "a device or a pipe"
            return context.problems.warn("\(handle.path)/\(MessageText.name(name.bytes)): not copied, since it is \(kind)")
        case .regular, .symbolicLink: visitedCount += 1
        }
        let expected = try manifest?.expectation(path, status)
        var receivers: [Int] = []
        for (index, destination) in destinations.enumerated() {
            if try context.journal.earlier.has(path, destination: destination.place.path) {
                destination.skippedBytes.add(status.kind == .regular ? status.size : 0, ordering: .relaxed)
            } else {
                receivers.append(index)
            }
        }
        guard !receivers.isEmpty else { return }
        if status.kind == .symbolicLink {
            copyLink(FileTask(name, in: folder, status), handle, to: receivers)
        } else {
            try copyFile(name, status, in: folder, handle, early, expected, to: receivers)
        }
    }

    private func push(_ commands: [WriterCommand], to receivers: [Int]) {
        passOn()
        let start = SystemClock.monotonicNanoseconds()
        for index in receivers { queues[index].push(commands) }
        load.addWaiting(since: start)
    }

    private func copyLink(_ task: FileTask, _ handle: DirectoryHandle, to receivers: [Int]) {
        do throws(BackupError) {
            let target = try handle.readLink(task.name)
            push([.link(FileTask(task.name, in: task.folder, task.status, linkTarget: target))], to: receivers)
        } catch {
            push([.abandon(task, error)], to: receivers)
        }
    }

    // MARK: Files

    private func copyFile(
        _ name: FileName, _ status: FileStatus, in folder: SourceFolder, _ handle: DirectoryHandle, _ early: AnnouncedFile?,
        _ expected: ExpectedFile?, to receivers: [Int]
    ) throws(BackupError) {
        var failure: BackupError?
        var early = early
        var last = FileTask(name, in: folder, status)
        for _ in 0..<Self.attemptLimit {
            do throws(BackupError) {
                // Another attempt opens it again.
                let file = if let early { early } else { try AnnouncedFile(opening: name, in: folder, handle) }
                early = nil
                let before = file.status
                let isSmall = before.size <= UInt64(Self.smallByteCount)
                last = FileTask(
                    name, in: folder, before, attributes: attributes(of: file.descriptor), expected: expected,
                    partCount: isSmall ? 1 : hasher.partCount)
                if try isSmall ? readSmall(file, last, receivers) : readLarge(file, last, receivers) {
                    return
                }
                failure = BackupError(
                    .stale, "the file changed each time while it was read",
                    path: "\(handle.path)/\(MessageText.name(name.bytes))",
                    remedy: "Copy it once more when no program writes to it.")
            } catch {
                guard error.code != .interrupted else {
                    push([.abandon(last, error)], to: receivers)
                    throw error
                }
                failure = error
                break
            }
        }
        push([.abandon(last, failure)], to: receivers)
    }

    private func attributes(of file: borrowing OwnedDescriptor) -> [ExtendedAttribute] {
        do throws(BackupError) {
            return try file.extendedAttributes()
        } catch {
            context.problems.warn(error.summary)
            return []
        }
    }

    /// One block, which is sent only when the whole file has been read.
    /// - Returns: false when the file has changed meanwhile.
    private func readSmall(
        _ file: AnnouncedFile, _ task: FileTask, _ receivers: [Int]
    ) throws(BackupError) -> Bool {
        let size = Int(task.status.size)
        var filled: BlockPool.Block?
        if size > 0 {
            let block = try content(of: file, count: size)
            filled = block
            guard block.count == size else { return false }
            if isShared { file.secondLook.note(block.bytes, at: 0) }
        }
        guard try isUnchanged(file, blocks: smallBlocks) else { return false }
        if let block = filled {
            digester.update(block.bytes)
            for index in receivers { destinations[index].waitingBytes.add(UInt64(size), ordering: .relaxed) }
        }
        task.deliver(digester.finish())
        for index in receivers {
            pending[index].append(.small(task, filled))
        }
        pendingCount += 1
        if pendingCount >= Self.pendingLimit { passOn() }
        return true
    }

    /// Whether the file is still what it was when it was opened, with the bytes that were read.
    /// - Parameter blocks: those that a part of it fits into.
    private func isUnchanged(_ file: AnnouncedFile, blocks: BlockPool) throws(BackupError) -> Bool {
        try FaultInjection.reached("copy.source-read")
        let isSame = try file.secondLook.confirms(file.descriptor, size: file.status.size) { load.take(from: blocks) }
        guard isSame else { return false }
        return try file.descriptor.status() == file.status
    }

    /// - Returns: false when the file has changed meanwhile.
    private func readLarge(
        _ file: AnnouncedFile, _ task: FileTask, _ receivers: [Int]
    ) throws(BackupError) -> Bool {
        push([.begin(task)], to: receivers)
        var isWhole = false
        // Whatever has been sent is taken back, unless all of it was.
        defer {
            if !isWhole {
                hasher.abandon()
                push([.abandon(task, nil)], to: receivers)
            }
        }
        let size = task.status.size
        file.secondLook.begin()
        let isSparse = task.status.allocatedBytes < size
        var position: UInt64 = 0
        while position < size {
            let data = isSparse ? Self.aligned(file.descriptor.data(from: position, size: size), size: size) : position..<size
            let hole = position..<(data?.lowerBound ?? size)
            if isShared { file.secondLook.note(hole: hole) }
            hasher.add(zeroCount: UInt64(hole.count))
            guard let data else { break }
            position = data.lowerBound
            while position < data.upperBound {
                try pace()
                if destinations.allSatisfy({ $0.error != nil }) { break }
                let block = load.take(from: blocks)
                let count = Int(min(data.upperBound - position, UInt64(block.writableBytes.count)))
                block.count = try read(file.descriptor, at: position, count: count, into: block)
                guard block.count == count else { return false }
                if isShared { file.secondLook.note(block.bytes, at: position) }
                send(block, at: position, to: receivers)
                position += UInt64(count)
            }
            if position < data.upperBound { break }
        }
        guard try isUnchanged(file, blocks: blocks) else { return false }
        isWhole = true
        hasher.end(task)
        push([.end(task)], to: receivers)
        return true
    }

    /// Blocks begin at multiples of what direct reads take. What is added to the data are zeros of the hole.
    private static func aligned(_ data: Range<UInt64>?, size: UInt64) -> Range<UInt64>? {
        guard let data else { return nil }
        let unit = UInt64(UncachedFile.alignmentBytes)
        return data.lowerBound / unit * unit..<min(size, (data.upperBound + unit - 1) / unit * unit)
    }

    private func send(_ block: BlockPool.Block, at offset: UInt64, to receivers: [Int]) {
        hasher.add(block)
        for index in receivers { destinations[index].waitingBytes.add(UInt64(block.count), ordering: .relaxed) }
        push([.data(block, offset: offset)], to: receivers)
    }

    /// Of a small file, unless it has become shorter.
    private func content(of file: AnnouncedFile, count: Int) throws(BackupError) -> BlockPool.Block {
        let start = SystemClock.monotonicNanoseconds()
        if let block = ahead.takeContent(of: file) {
            load.addReading(since: start)
            load.add(bytes: UInt64(count))
            return block
        }
        let block = load.take(from: smallBlocks)
        file.secondLook.begin()
        block.count = try read(file.descriptor, at: 0, count: count, into: block)
        return block
    }

    private func read(
        _ file: borrowing OwnedDescriptor, at offset: UInt64, count: Int, into block: BlockPool.Block
    ) throws(BackupError) -> Int {
        let start = SystemClock.monotonicNanoseconds()
        defer { load.addReading(since: start) }
        let read = try file.readFully(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: block.writableBytes[..<count]))
        load.add(bytes: UInt64(read))
        return read
    }
}
