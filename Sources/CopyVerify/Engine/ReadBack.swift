import BackupCore
import SystemIO

/// Reads copies back and compares them with the source. For one thread.
final class ReadBack {
    /// What was found: the digests of the source, which the copy has, and how it was read.
    struct Finding {
        var digests = FileDigests()
        var method: UncachedFile.Method?
    }

    private let context: CopyContext
    private let destination: Destination
    private let buffer = AlignedBuffer()
    private let sourceBuffer = AlignedBuffer()
    private var digester: FileDigester
    private var sourceFolder: (path: [FileName], handle: DirectoryHandle)?

    init(_ context: CopyContext, _ destination: Destination) {
        self.context = context
        self.destination = destination
        digester = FileDigester(context.options.verification.algorithms)
    }

    private var source: DirectoryHandle { context.source }
    private var mode: VerificationMode { context.options.verification }

    /// - Parameter name: the copy's present name in the folder.
    /// - Throws: `damagedContent` when the copy differs.
    func verify(_ task: FileTask, _ name: FileName, in folder: DirectoryHandle) throws(BackupError) -> Finding {
        let size = task.status.size
        guard mode.readsBack else {
            guard try folder.status(name).size == size else { throw mismatch(task, "the copy has another size") }
            return Finding(digests: task.waitForDigests())
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
        guard digester.finish() == digests.limited(to: mode.algorithms) else {
            throw mismatch(task, "what was read back differs from what was read from the source")
        }
        return Finding(digests: digests, method: file.method)
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

    private func mismatch(_ task: FileTask, _ message: Message) -> BackupError {
        BackupError(
            .damagedContent, message, path: "\(destination.place.path)/\(MessageText.name(task.path))",
            remedy: "The copy was removed. Check the disk, its cable and the memory, and resume the job.")
    }
}
