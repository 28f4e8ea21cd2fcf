import BackupCore
import SystemIO

/// Reads copies back and compares them with the source. For one thread.
final class ReadBack {
    /// What was found: the digests of the source, which the copy has, and how it was read.
    struct Finding {
        var digests = FileDigests()
        var method: UncachedFile.Method?
        /// Of the copy; `nil` if it is not known.
        var status: FileStatus?
    }

    /// A copy that is to be verified.
    struct Copy {
        let task: FileTask
        /// Its present name.
        let name: FileName
        let folder: DirectoryHandle
    }

    private let context: CopyContext
    private let destination: Destination
    private let buffer = AlignedBuffer()
    private let sourceBuffer = AlignedBuffer()
    private let smallReads: UncachedReads?
    private var digester: FileDigester
    private var sourceFolder: (path: [FileName], handle: DirectoryHandle)?

    init(_ context: CopyContext, _ destination: Destination) {
        self.context = context
        self.destination = destination
        let mode = context.options.verification
        smallReads = mode.readsBack && !mode.readsSourceAgain ? UncachedReads() : nil
        digester = FileDigester(context.options.verification.algorithms)
    }

    private var source: DirectoryHandle { context.source }
    private var mode: VerificationMode { context.options.verification }

    /// Whether `verifySmall` takes it.
    func isSmall(_ task: FileTask) -> Bool { smallReads != nil && task.status.size <= UncachedReads.fileLimitBytes }

    /// Verifies small copies, which are read together.
    /// - Returns: what was found, in their order; `nil` for those that could not be read this way: `verify` says why.
    func verifySmall(_ copies: [Copy]) -> [Result<Finding, BackupError>?] {
        guard let smallReads else { return copies.map { _ in nil } }
        let requests = copies.map { UncachedReads.Request($0.name, in: $0.folder, size: $0.task.status.size) }
        var results: [Result<Finding, BackupError>?] = []
        while results.count < copies.count {
            for found in smallReads.read(requests[results.count...]) {
                results.append(found.map { compare($0, copies[results.count].task) })
            }
        }
        return results
    }

    private func compare(_ found: UncachedReads.Found, _ task: FileTask) -> Result<Finding, BackupError> {
        digester.update(found.bytes)
        destination.verifiedBytes.add(task.status.size, ordering: .relaxed)
        let digests = task.waitForDigests()
        guard digester.finish() == digests.limited(to: mode.algorithms) else { return .failure(difference(task)) }
        return .success(Finding(digests: digests, method: .direct, status: found.status))
    }

    /// - Throws: `damagedContent` when the copy differs.
    func verify(_ copy: Copy) throws(BackupError) -> Finding {
        let (task, name, folder) = (copy.task, copy.name, copy.folder)
        let size = task.status.size
        guard mode.readsBack else {
            let status = try folder.status(name)
            guard status.size == size else { throw mismatch(task, "the copy has another size") }
            return Finding(digests: task.waitForDigests(), status: status)
        }
        let file = try UncachedFile(name, in: folder)
        guard file.status.size == size else { throw mismatch(task, "the copy has another size") }
        let original = mode.readsSourceAgain ? try openSource(task) : nil
        var position: UInt64 = 0
        // The digests of a copy that is given up must not become part of the next one's.
        defer { _ = digester.finish() }
        while position < size {
            if context.mustStop { throw CopyContext.cancelled }
            let count = Int(min(size - position, UInt64(AlignedBuffer.byteCount)))
            guard try file.read(at: position, into: buffer.prefix(UInt64(count))) >= count else {
                throw mismatch(task, "the copy ends too early")
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count])
            digester.update(bytes)
            if let original {
                let read = try original.read(at: position, into: sourceBuffer.prefix(UInt64(count)))
                guard read >= count, sourceBuffer.begins(with: bytes) else {
                    throw mismatch(task, "the copy differs from the source, read again, from byte \(position) on")
                }
            }
            position += UInt64(count)
            destination.verifiedBytes.add(UInt64(count), ordering: .relaxed)
        }
        // Those that the mode compares; the others are of the same bytes then.
        let digests = task.waitForDigests()
        guard digester.finish() == digests.limited(to: mode.algorithms) else { throw difference(task) }
        return Finding(digests: digests, method: file.method, status: file.status)
    }

    private func openSource(_ task: FileTask) throws(BackupError) -> UncachedFile {
        let path = task.folder.components
        if sourceFolder?.path != path { sourceFolder = (path, try source.openDirectory(at: path[...])) }
        let file = try UncachedFile(task.name, in: sourceFolder?.handle ?? source)
        guard file.status == task.status else {
            throw BackupError(
                .stale, "the source has changed since it was copied", path: "\(source.path)/\(MessageText.name(task.path))",
                remedy: "Copy it once more when no program writes to it.")
        }
        return file
    }

    private func difference(_ task: FileTask) -> BackupError {
        mismatch(task, "what was read back differs from what was read from the source")
    }

    private func mismatch(_ task: FileTask, _ message: Message) -> BackupError {
        BackupError(
            .damagedContent, message, path: "\(destination.place.path)/\(MessageText.name(task.path))",
            remedy: "The copy was removed. Check the disk, its cable and the memory, and resume the job.")
    }
}
