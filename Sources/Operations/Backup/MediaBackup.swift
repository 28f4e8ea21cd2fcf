import AppData
import BackupCore
import BackupRepository
import Glibc
import Restore
import Synchronization
import SystemIO

/// Stores the app's media folder into a running backup, several files in parallel. Unchanged files are taken from an earlier
/// snapshot without opening them.
final class MediaBackup: Sendable {
    /// Several threads cut, hash and write a file of this size or more; a smaller one takes a single thread, which costs less.
    private static let largeFileBytes: UInt64 = 64 << 20
    /// Small files are submitted in batches of at most this many files and bytes.
    private static let batchFileCount = 16
    private static let batchBytes: UInt64 = 1 << 20
    /// How often to walk a folder that keeps changing: an app may create and remove files all the time.
    private static let passLimit = 3

    let writer: BackupWriter
    let repository: Repository
    let progress: BackupProgress
    private let group: WorkGroup
    // Separate threads walk folders: they may wait for the other threads, which store a large file with them.
    private let walking = WorkGroup(WorkerPool(queueLimit: 64))
    private let blocks = BlockPool(blockSizeBytes: 1 << 20, limit: WorkerPool.processorCount + 2)
    /// For copies of databases.
    let workPath: String
    private let reading: MediaReading
    let metadata: MediaMetadata
    private let sawUntracedFolder = Mutex(false)
    /// The media folder's trace from the last pass.
    private let rootTrace = Mutex<FolderTrace?>(nil)
    private let movedFiles = Mutex<[Message]>([])

    /// - Parameters:
    ///   - workPath: a folder for copies of databases.
    ///   - reading: selects files to read although they look unchanged.
    ///   - metadata: the metadata kept with files.
    init(
        writer: BackupWriter, repository: Repository, progress: BackupProgress, workPath: String, reading: MediaReading,
        metadata: MediaMetadata
    ) {
        self.reading = reading
        self.metadata = metadata
        self.workPath = workPath
        self.writer = writer
        self.repository = repository
        self.progress = progress
        group = WorkGroup(writer.workers)
    }

    /// Files that could not be stored, with the reason; the backup continues without them and says so.
    var unreadable: [Message] { rootTrace.withLock { $0 }?.allNotes.sorted() ?? [] }

    /// Paths of files and folders that the backup lacks because they kept moving while it ran.
    var moved: [Message] { movedFiles.withLock { $0 } }

    /// Whether any of the media is on a file system without change times.
    var hasUntracedFolder: Bool { sawUntracedFolder.withLock { $0 } }

    /// A walk can miss a file that is renamed or moved meanwhile, in both places. So the folder is checked again at the end. A
    /// subfolder whose listing changed is walked again, a few times at most.
    /// - Parameters:
    ///   - amongMedia: entries of the folder that are not media.
    ///   - earlier: the media folder in an earlier snapshot.
    /// - Throws: the repository's errors, or if the folder itself is unreadable; a single unreadable file is noted in
    ///   `unreadable`.
    func store(
        _ path: String, amongMedia: DatabaseAmongMedia, earlier: StoredDirectory?
    ) throws(BackupError) -> StoredDirectory {
        let begin = SystemClock.systemTime()
        progress.enter(.media)
        var (stored, trace) = try pass(path, amongMedia, earlier: earlier, nil)
        for number in 1... {
            try FaultInjection.reached("backup.media-stored")
            guard try hasMoves(trace, path, amongMedia) else { break }
            // The next pass, or the search for moved files, reads the stored folders.
            try writer.publishChunks()
            guard number < Self.passLimit else {
                let moves = MediaMoves(repository: repository, begin: begin)
                let found = try moves.find(in: DirectoryHandle(path: path), amongMedia, trace, stored)
                movedFiles.withLock { $0 = found }
                break
            }
            (stored, trace) = try pass(path, amongMedia, earlier: stored, trace)
        }
        rootTrace.withLock { $0 = trace }
        return stored
    }

    private func hasMoves(
        _ trace: FolderTrace, _ path: String, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) -> Bool {
        do {
            return try trace.lookForMoves(DirectoryHandle(path: path), amongMedia)
        } catch let error where error.code == .notFound {
            // The caller detects and reports that the folder is gone.
            return false
        }
    }

    /// Walks the media folder once.
    /// - Parameter earlierTrace: from the previous pass, which stored `earlier`.
    private func pass(
        _ path: String, _ amongMedia: DatabaseAmongMedia, earlier: StoredDirectory?, _ earlierTrace: FolderTrace?
    ) throws(BackupError) -> (stored: StoredDirectory, trace: FolderTrace) {
        let result = Mutex<StoredDirectory?>(nil)
        let reader = try DirectoryHandle(path: path)
        let trace = FolderTrace(try reader.descriptor.status())
        let root = try MediaFolderTask(
            reader, relativePath: "", amongMedia: amongMedia, reading: earlierTrace == nil ? reading : .again, trace: trace,
            earlierTrace: earlierTrace, earlier: earlier, in: repository, writer
        ) { [self] (task) throws(BackupError) in
            let stored = try task.store(with: writer)
            result.withLock { $0 = stored }
        }
        do throws(BackupError) {
            try walk(root, trace.list(root.reader, amongMedia))
        } catch {
            walking.fail(error)
        }
        // Running work must end before the backup is taken apart.
        do throws(BackupError) {
            try walking.wait()
        } catch {
            group.fail(error)
        }
        try group.wait()
        guard let stored = result.withLock({ $0 }) else {
            throw BackupError(.inputOutput, "the media folder was not stored", path: path)
        }
        return (stored, trace)
    }

    /// Walks a folder and submits its files and subfolders.
    private func walk(_ task: MediaFolderTask, _ names: [FileName]) throws(BackupError) {
        var batch: [FileName] = []
        var batchBytes: UInt64 = 0
        try FaultInjection.reached("backup.media-listed")
        if !task.keepsChangeTime { sawUntracedFolder.withLock { $0 = true } }
        let databases = MediaDatabases(among: names, task.amongMedia, in: task.reader)
        for name in names where !task.amongMedia.hides(name) {
            guard !group.hasFailed, !walking.hasFailed else { return }
            task.expect(1)
            if databases.isCompanion(name) { continue }
            try notingUnreadable(name, in: task) { () throws(BackupError) in
                if databases.hasLog(name) { return try storeDatabase(name, databases, in: task) }
                let status = try MediaFile.reading(task.path(of: name)) { () throws(BackupError) in try task.reader.status(name) }
                switch status.kind {
                case .directory: try enter(name, status, in: task)
                case .symbolicLink:
                    let target = try MediaFile.reading(task.path(of: name)) { () throws(BackupError) in
                        try task.reader.readLink(name)
                    }
                    task.add(
                        .symbolicLink(
                            name: name, target: target, modificationTime: status.modificationTime,
                            metadata: metadata.ofLink(status)))
                case .regular:
                    if let entry = unchanged(name, status, in: task) {
                        task.add(entry)
                        noteUnchanged(status, in: task)
                    } else if status.size >= Self.largeFileBytes {
                        try storeFile(name, databases, in: task) { () throws(BackupError) in try storeLarge(name, in: task) }
                    } else {
                        batch.append(name)
                        batchBytes += status.size
                    }
                case .other:
                    // A socket belongs to a running program and has no content.
                    if status.isSocket { return task.leaveOut() }
                    throw BackupError(
                        .sourceUnreadable, "is neither a file nor a folder nor a link", path: task.path(of: name))
                }
            }
            if batch.count >= Self.batchFileCount || batchBytes >= Self.batchBytes {
                submit(&batch, &batchBytes, databases, in: task)
            }
        }
        submit(&batch, &batchBytes, databases, in: task)
        finish(task)
    }

    /// The entry of a file that is unchanged since the earlier snapshot. If that snapshot's program did not collect metadata, it
    /// is collected from the file now, without reading the content.
    func unchanged(_ name: FileName, _ status: FileStatus, in task: MediaFolderTask) -> TreeEntry? {
        guard let entry = task.unchanged(name, status) else { return nil }
        guard !metadata.isKnown, task.earlierTrace == nil else { return entry }
        // A file that cannot be opened is handled as a changed one: read, and noted.
        guard let file = try? task.reader.openFile(name), (try? file.status()) == status else { return nil }
        return entry.replacing(metadata: metadata.of(file, status, path: task.path(of: name)))
    }

    /// Submits a folder for walking. One that cannot be opened or listed is left out and noted.
    private func enter(_ name: FileName, _ status: FileStatus, in task: MediaFolderTask) throws(BackupError) {
        let path = task.path(of: name)
        guard !task.amongMedia.isDepthLimit else {
            throw BackupError(
                .sourceUnreadable, "the folder is inside more than \(MediaFolder.depthLimit) others",
                path: MessageText.shortened(path))
        }
        if let (entry, trace) = task.stillFolder(name) {
            task.trace.add(trace, named: name)
            return task.add(entry)
        }
        let trace = FolderTrace(status)
        let inner = try MediaFolderTask(
            MediaFile.openingFolder(name, in: task.reader, path), relativePath: path,
            amongMedia: task.amongMedia.entering(name), reading: task.earlierTrace == nil ? reading : .again, trace: trace,
            earlierTrace: task.earlierTrace?.child(name), earlier: task.earlierFolder(name), in: repository, writer
        ) { [self] (inner) throws(BackupError) in
            let stored = try inner.store(with: writer)
            task.add(
                .directory(
                    name: name, mode: status.mode, modificationTime: status.modificationTime, stored: stored,
                    metadata: metadata.of(inner.reader.descriptor, status, path: path)))
            finish(task)
        }
        let names = try MediaFile.reading(path) { () throws(BackupError) in try trace.list(inner.reader, inner.amongMedia) }
        task.trace.add(trace, named: name)
        task.begin()
        walking.submit { [self] () throws(BackupError) in try walk(inner, names) }
    }

    /// Marks one unit of a folder's work as done; the last one stores the folder.
    private func finish(_ task: MediaFolderTask) {
        guard task.end() else { return }
        group.submit { () throws(BackupError) in try task.whenComplete(task) }
    }

    private func submit(
        _ batch: inout [FileName], _ batchBytes: inout UInt64, _ databases: MediaDatabases, in task: MediaFolderTask
    ) {
        guard !batch.isEmpty else { return }
        let files = batch
        batch = []
        batchBytes = 0
        task.begin()
        group.submit { [self] () throws(BackupError) in
            for name in files {
                try notingUnreadable(name, in: task) { () throws(BackupError) in
                    try storeFile(name, databases, in: task) { () throws(BackupError) in try storeSmall(name, in: task) }
                }
            }
            finish(task)
        }
    }

    /// Stores a file that had no log when it was listed. If it has one now, both are stored together.
    private func storeFile(
        _ name: FileName, _ databases: MediaDatabases, in task: MediaFolderTask,
        _ body: () throws(BackupError) -> TreeEntry
    ) throws(BackupError) {
        let entry = try body()
        guard !databases.hasNewLog(name, in: task.reader) else { return try storeDatabase(name, databases, in: task) }
        task.add(entry)
    }

    /// Reads and stores a file on the calling thread alone.
    func storeSmall(_ name: FileName, in task: MediaFolderTask) throws(BackupError) -> TreeEntry {
        try MediaFile.stable(name, task.path(of: name), in: task.reader, metadata) { (file) throws(BackupError) in
            try storeContent(of: file, file.size, earlier: task.earlierContent(name))
        }
    }

    /// Stores a file's bytes on the calling thread alone.
    /// - Parameter size: the file's size when it was opened.
    func storeContent(of file: any ByteSource, _ size: UInt64, earlier: FileContent?) throws(BackupError) -> StoredFile {
        let block = blocks.take()
        block.count = try file.read(at: 0, into: block.writableBytes)
        let policy = MediaFile.policy(of: block.bytes)
        try writer.requireStorable(byteCount: size, policy: policy)
        let content = writer.makeContentWriter(policy, earlier: earlier)
        var offset: UInt64 = 0
        var notedBytes: UInt64 = 0
        while block.count > 0 {
            try content.append(block.bytes)
            offset += UInt64(block.count)
            if offset >= size { break }
            progress.update { $0[.media].processedBytes += offset - notedBytes }
            notedBytes = offset
            block.count = try file.read(at: offset, into: block.writableBytes)
        }
        let stored = try content.finish()
        progress.update { state in
            state[.media].processedItems += 1
            state[.media].processedBytes += offset - notedBytes
        }
        return stored
    }

    private func storeLarge(_ name: FileName, in task: MediaFolderTask) throws(BackupError) -> TreeEntry {
        try MediaFile.stable(name, task.path(of: name), in: task.reader, metadata) { (file) throws(BackupError) in
            let policy = try file.bytes(at: 0, upTo: SQLiteHeader.byteCount).withUnsafeBytes { MediaFile.policy(of: $0) }
            try writer.requireStorable(byteCount: file.size, policy: policy)
            let stored = try writer.store(file, policy: policy, earlier: task.earlierContent(name)) { bytes in
                progress.update { $0[.media].processedBytes += bytes }
            }
            progress.update { $0[.media].processedItems += 1 }
            return stored
        }
    }

    private func isGone(_ name: FileName, in task: MediaFolderTask) -> Bool {
        do {
            return try task.reader.statusIfPresent(name) == nil
        } catch {
            return false
        }
    }

    /// Notes an unreadable file and continues; a repository that cannot be written ends the backup.
    private func notingUnreadable(
        _ name: FileName, in task: MediaFolderTask, _ body: () throws(BackupError) -> Void
    ) throws(BackupError) {
        do {
            try body()
        } catch {
            guard error.code == .sourceUnreadable else { throw error }
            leaveOut(name, error, in: task)
        }
    }

    /// Notes that a listed file could not be stored, unless it no longer exists. If the app deleted it, the backup lacks it as if
    /// it had begun a moment later. If it was moved, another pass finds it.
    func leaveOut(_ name: FileName, _ error: BackupError, in task: MediaFolderTask) {
        if isGone(name, in: task) { task.trace.noteGone() } else { note(error, of: name, in: task) }
        task.leaveOut()
    }

    func note(_ error: BackupError, of name: FileName, in task: MediaFolderTask) {
        task.trace.note("\(task.path(of: name)): \(error.message)", of: name)
    }

    /// Counts an unchanged file. What an earlier pass stored is already counted.
    func noteUnchanged(_ status: FileStatus, in task: MediaFolderTask) {
        guard task.earlierTrace == nil else { return }
        progress.update { state in
            state[.media].processedItems += 1
            state[.media].skippedBytes += status.size
        }
    }
}
