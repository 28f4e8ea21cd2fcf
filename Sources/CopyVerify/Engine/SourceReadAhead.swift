import BackupCore
import SystemIO

/// Opens files of the source before their turn, and reads small ones together: their storage works at many of them at once. For
/// one thread.
final class SourceReadAhead {
    /// How many files may be open before the first of them has its turn: two batches, one of which is read while the other one is
    /// copied.
    static let fileCount = 2 * batchCount
    // As many requests as a disk usually takes at once.
    private static let batchCount = 16

    private let blocks: BlockPool
    private let limitBytes: UInt64
    private let load: SourceLoad
    /// `nil` once the source has turned out to have no direct reads.
    private var queue = ReadQueue()
    /// In the order of their turns, but for those of folders on the way.
    private var files: [AnnouncedFile] = []
    /// Small ones of them that nothing was done about yet.
    private var unread: [AnnouncedFile] = []

    /// - Parameter blocks: one takes the content of a small file.
    init(_ blocks: BlockPool, limitBytes: UInt64, _ load: SourceLoad) {
        self.blocks = blocks
        self.limitBytes = limitBytes
        self.load = load
    }

    /// - Returns: its status; `nil` if it was not opened.
    func open(_ name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle) -> FileStatus? {
        // Each folder on the way can have some. All of them have fewer blocks than there are.
        guard files.count < 2 * Self.fileCount else { return nil }
        var status: FileStatus?
        guard let descriptor = try? handle.openFile(name, noting: &status), let status else { return nil }
        let file = AnnouncedFile(name, in: folder, descriptor, status)
        files.append(file)
        if status.size > 0, status.size <= limitBytes { unread.append(file) }
        if unread.count >= Self.batchCount { readTogether() }
        return status
    }

    /// The file that was opened before; `nil` for others.
    func take(_ name: FileName, in folder: SourceFolder) -> AnnouncedFile? {
        guard let index = files.firstIndex(where: { $0.folder === folder && $0.name == name }) else { return nil }
        let file = files.remove(at: index)
        if unread.contains(where: { $0 === file }) { readTogether() }
        return file
    }

    /// What was read of a file before its turn. Waits for its read.
    /// - Returns: `nil` if it is to be read now.
    func takeContent(of file: AnnouncedFile) -> BlockPool.Block? {
        defer { file.early = .none }
        switch file.early {
        case .none: return nil
        case .whole(let block): return block
        case .running(let read, let block):
            guard let count = queue?.wait(for: read), UInt64(count) == file.status.size else {
                // It has changed, or an ordinary read says what is wrong with it.
                _ = file.descriptor.setDirect(false)
                return nil
            }
            block.count = count
            return block
        }
    }

    func end() {
        files = []
        unread = []
    }

    // MARK: Reads

    private func readTogether() {
        let batch = unread
        unread.removeAll(keepingCapacity: true)
        guard batch.count > 1, let queue else { return announce(batch) }
        // A source whose first file is in the page cache was read a short time ago: then the others are there, too.
        guard !readCached(batch[0]) else { return }
        let others = batch.dropFirst()
        guard others.allSatisfy({ $0.descriptor.setDirect(true) }) else {
            for file in others { _ = file.descriptor.setDirect(false) }
            self.queue = nil
            return announce(batch)
        }
        queue.begin(
            others.map { file in
                let block = load.take(from: blocks)
                let length = UncachedFile.alignedCount(Int(file.status.size))
                let memory = UnsafeMutableRawBufferPointer(rebasing: block.writableBytes[..<length])
                let read = ReadQueue.Read(file.descriptor, into: memory, owner: block)
                file.early = .running(read, block)
                file.secondLook.begin()
                return read
            })
    }

    private func readCached(_ file: AnnouncedFile) -> Bool {
        let block = load.take(from: blocks)
        file.secondLook.begin()
        let size = Int(file.status.size)
        let memory = UnsafeMutableRawBufferPointer(rebasing: block.writableBytes[..<size])
        guard file.descriptor.readCached(into: memory) == size else { return false }
        block.count = size
        file.early = .whole(block)
        return true
    }

    private func announce(_ files: [AnnouncedFile]) {
        for file in files { file.descriptor.announceReading() }
    }
}
