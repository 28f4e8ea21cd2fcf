import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A copy while its bytes arrive, in any order. It is removed unless it is kept (`KeptCopies.keep`).
public final class CopyDraft: Sendable {
    private let file: SharedFile
    /// Shows other processes that it is in use.
    private let lock: AdvisoryLock
    private let isOver = Atomic(false)

    init(path: String) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL)
        do throws(BackupError) {
            lock = try AdvisoryLock(locking: OwnedDescriptor.open(path, O_RDWR))
            file = try SharedFile(descriptor)
        } catch {
            try? FileSystem.removeFile(path)
            throw error
        }
    }

    deinit { discard() }

    /// Removes it, unless it was kept.
    public func discard() {
        guard !isOver.exchange(true, ordering: .sequentiallyConsistent) else { return }
        try? FileSystem.removeFile(file.path)
    }

    /// Keeps the bytes under a name that no one removes: no star stands for them, and the original may be gone.
    /// - Returns: their path.
    public func setAside() throws(BackupError) -> String {
        // Whatever fails now, the bytes are not removed.
        isOver.store(true, ordering: .sequentiallyConsistent)
        let path = "\(file.path.dropLast(KeptCopies.draftSuffix.utf8.count)).unclaimed"
        try rename(to: path)
        try file.synchronize()
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
        return path
    }

    func rename(to path: String) throws(BackupError) {
        try FileSystem.rename(file.path, to: path)
        isOver.store(true, ordering: .sequentiallyConsistent)
    }

    // MARK: The bytes

    /// Of the file as it is now.
    public func status() throws(BackupError) -> FileStatus { try file.status() }

    /// - Returns: bytes read: fewer than asked for only at the end.
    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try file.read(at: offset, into: buffer)
    }

    /// What is kept, or was removed, does not change any more.
    private func requireOpen() throws(BackupError) {
        if isOver.load(ordering: .sequentiallyConsistent) {
            throw BackupError(.badHandle, "the file is not open", path: file.path)
        }
    }

    /// Writes all bytes.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BackupError) {
        try requireOpen()
        try file.write(bytes, at: offset)
    }

    /// Cuts the file off, or fills it with zeros up to a size.
    public func truncate(to size: UInt64) throws(BackupError) {
        try requireOpen()
        try file.withDescriptor { (descriptor) throws(BackupError) in try descriptor.truncate(to: size) }
    }

    /// fsync(2).
    public func synchronize() throws(BackupError) { try file.synchronize() }

    /// Of all bytes so far.
    public func sha256() throws(BackupError) -> SHA256Digest { try file.sha256() }

    /// Gives the file a time, and waits until all of it is on the disk.
    public func finish(modificationTime time: Timestamp) throws(BackupError) {
        try file.withDescriptor { (descriptor) throws(BackupError) in try descriptor.setModificationTime(time) }
        try file.synchronize()
    }
}
