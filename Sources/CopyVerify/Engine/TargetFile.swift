import BackupCore
import SystemIO

/// The end of a file's bytes at a destination: a new file, or the file there is, which may have the same bytes. For one thread.
final class TargetFile {
    private enum Sink {
        /// Under a temporary name.
        case writing(OpenFile, temporary: FileName)
        /// The file that is there has the same bytes so far.
        case comparing(UncachedFile)
    }

    /// A descriptor that has several owners.
    private final class OpenFile {
        let descriptor: OwnedDescriptor

        init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
    }

    private let task: FileTask
    private let folder: DirectoryHandle
    private let context: CopyContext
    private let destination: Destination
    private let buffers: (AlignedBuffer, AlignedBuffer)
    private var sink: Sink?
    private var number = 1
    /// How far the bytes have come.
    private var end: UInt64 = 0
    /// How far they were written.
    private var writtenEnd: UInt64 = 0

    /// The name of the copy.
    private(set) var target: FileName

    /// Looks at what has the name, and decides.
    /// - Parameters:
    ///   - isInNewFolder: whether nothing can have the name but by another program: it keeps it then, since the copy replaces
    ///     nothing when it gets its name.
    ///   - buffers: reused from file to file.
    /// - Throws: `conflict` when something else has the name, and the job refuses that.
    init(
        _ task: FileTask, in folder: DirectoryHandle, isInNewFolder: Bool, of destination: Destination, _ context: CopyContext,
        buffers: (AlignedBuffer, AlignedBuffer)
    ) throws(BackupError) {
        self.task = task
        self.folder = folder
        self.context = context
        self.destination = destination
        self.buffers = buffers
        target = task.name
        sink = isInNewFolder ? try makeFile(after: nil) : try choose(after: nil)
    }

    /// The sink for the name, or for the next one that will do.
    /// - Parameter earlier: the file that was compared until now: it has the bytes before `end`.
    private func choose(after earlier: UncachedFile?) throws(BackupError) -> Sink {
        while true {
            guard let present = try folder.statusIfPresent(target) else { return try makeFile(after: earlier) }
            if present.kind == .regular, present.size == task.status.size,
                let file = try? UncachedFile(target, in: folder),
                try earlier.map({ (earlier) throws(BackupError) in
                    try haveSameStart(earlier, file)
                }) ?? true
            {
                return .comparing(file)
            }
            try useNextName()
        }
    }

    private func useNextName() throws(BackupError) {
        number += 1
        guard destination.mayRename, number < CopyNames.numberLimit else { throw destination.conflict(folder, target) }
        target = CopyNames.numbered(task.name, number)
    }

    private func makeFile(after earlier: UncachedFile?) throws(BackupError) -> Sink {
        try destination.requireRoom(for: target, in: folder)
        let name = CopyNames.temporary(of: task.name, token: context.token, number: destination.nextNumber())
        let file = OpenFile(try folder.createFile(name, upTo: CopiedAttributes.firstPermissions(task)))
        do throws(BackupError) {
            if let earlier { try copyStart(of: earlier, to: file) }
        } catch {
            try? folder.removeFile(name)
            throw error
        }
        return .writing(file, temporary: name)
    }

    /// The bytes before `end`, which are those of the source. The verification reads the copy of them again.
    private func copyStart(of earlier: UncachedFile, to file: OpenFile) throws(BackupError) {
        var position: UInt64 = 0
        while position < end {
            let count = Int(min(end - position, UInt64(AlignedBuffer.byteCount)))
            let part = buffers.0.prefix(UInt64(count))
            guard try earlier.read(at: position, into: part) >= count else { throw destination.conflict(folder, target) }
            try file.descriptor.writeSparsely(UnsafeRawBufferPointer(rebasing: part[..<count]), at: position)
            position += UInt64(count)
        }
    }

    private func haveSameStart(_ first: UncachedFile, _ second: UncachedFile) throws(BackupError) -> Bool {
        var position: UInt64 = 0
        while position < end {
            let count = Int(min(end - position, UInt64(AlignedBuffer.byteCount)))
            let (one, other) = (buffers.0.prefix(UInt64(count)), buffers.1.prefix(UInt64(count)))
            guard try first.read(at: position, into: one) >= count, try second.read(at: position, into: other) >= count,
                buffers.0.begins(with: UnsafeRawBufferPointer(rebasing: other[..<count]))
            else { return false }
            position += UInt64(count)
        }
        return true
    }

    /// The next bytes; the file has a hole before them if they do not follow the last ones.
    func add(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BackupError) {
        try addHole(to: offset)
        if case .comparing(let file) = sink, try !matches(bytes, file) {
            try useNextName()
            sink = try choose(after: file)
            // The next file is compared from here on.
            return try add(bytes, at: offset)
        }
        end = offset + UInt64(bytes.count)
        if case .writing(let file, _) = sink {
            try file.descriptor.writeAll(bytes, at: offset)
            writtenEnd = end
        }
    }

    private func matches(_ bytes: UnsafeRawBufferPointer, _ file: UncachedFile) throws(BackupError) -> Bool {
        try file.read(at: end, into: buffers.0.prefix(UInt64(bytes.count))) >= bytes.count && buffers.0.begins(with: bytes)
    }

    private func addHole(to offset: UInt64) throws(BackupError) {
        while end < offset, case .comparing(let file) = sink {
            let count = Int(min(offset - end, UInt64(AlignedBuffer.byteCount)))
            if try file.read(at: end, into: buffers.0.prefix(UInt64(count))) >= count, buffers.0.hasZeros(count) {
                end += UInt64(count)
            } else {
                try useNextName()
                sink = try choose(after: file)
            }
        }
        end = max(end, offset)
    }

    /// All bytes have come.
    /// - Returns: what there is now.
    func finish(_ attributes: CopiedAttributes) throws(BackupError) -> WrittenFile.Outcome {
        try addHole(to: task.status.size)
        defer { sink = nil }
        switch sink {
        case .comparing(let file): return .present(file.method, file.status)
        case .writing(let file, let name):
            // A hole at the end.
            if writtenEnd < task.status.size { try file.descriptor.truncate(to: task.status.size) }
            try attributes.set(file.descriptor, task.status, task.attributes)
            return .written(name)
        case nil: throw BackupError(.badHandle, "the copy has been finished already", path: folder.path)
        }
    }

    /// Removes what was written.
    func abandon() {
        if case .writing(_, let name) = sink { try? folder.removeFile(name) }
        sink = nil
    }
}
