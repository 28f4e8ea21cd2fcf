import AppData
import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// Reads one file of the media folder and never stores a mix of two states.
final class MediaFile: ByteSource {
    static let attemptLimit = 3

    private let file: SharedFile
    private let path: String

    private init(_ file: SharedFile, _ path: String) {
        self.file = file
        self.path = path
    }

    /// Size in bytes when it was opened.
    var size: UInt64 { file.size }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try Self.reading(path) { () throws(BackupError) in try file.read(at: offset, into: buffer) }
    }

    /// Stores a file. If it changes meanwhile, retries at most twice; then it counts as unreadable, since a mix of two states is worse than nothing.
    /// - Throws: `sourceUnreadable`; the errors of `body`.
    /// - Parameter metadata: collects the metadata kept with the file.
    static func stable(
        _ name: FileName, _ path: String, in folder: borrowing DirectoryReader, _ metadata: MediaMetadata,
        _ body: (MediaFile) throws(BackupError) -> StoredFile
    ) throws(BackupError) -> TreeEntry {
        for _ in 0..<attemptLimit {
            let file = try open(name, path, in: folder)
            let before = try reading(path) { () throws(BackupError) in try file.status() }
            // The next backup recognizes an unchanged file by this; `nil` where the file could change without a trace. A store through mmap(2) into a dirty
            // page changes no time: after the write-back, no page is dirty.
            let isTraced = before.isSettled && file.writeBack()
            let identity = isTraced ? SourceIdentity(inode: before.inode, changeTime: before.changeTime) : nil
            let stored = try body(MediaFile(file, path))
            // A metadata change also updates the change time.
            let kept = try file.withDescriptor { (file) throws(BackupError) in metadata.of(file, before, path: path) }
            let after = try reading(path) { () throws(BackupError) in try file.status() }
            // The change time too: a program that writes in place may reset the modification time.
            guard stored.size == before.size, before.size == after.size, before.modificationTime == after.modificationTime,
                before.changeTime == after.changeTime
            else { continue }
            return .file(
                name: name, mode: before.mode, modificationTime: before.modificationTime, stored: stored,
                sourceIdentity: identity, metadata: kept)
        }
        throw BackupError(.sourceUnreadable, "changed again and again while it was read", path: path)
    }

    private static func open(
        _ name: FileName, _ path: String, in folder: borrowing DirectoryReader
    ) throws(BackupError) -> SharedFile {
        do {
            return try SharedFile(folder.openFile(name))
        } catch {
            throw unreadable(error, path)
        }
    }

    /// SQLite databases are cut into pages, as the app's own is: a changed row then changes a page, not a megabyte.
    /// - Parameter start: the file's first bytes.
    static func policy(of start: UnsafeRawBufferPointer) -> ChunkingPolicy {
        SQLiteHeader(start).map { .database(pageSizeBytes: $0.pageSizeBytes) } ?? .media
    }

    static func reading<Result>(
        _ path: @autoclosure () -> String, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        do {
            return try body()
        } catch {
            throw unreadable(error, path())
        }
    }

    /// The error for a file that cannot be read. If this program ran out of descriptors or memory, the file is fine, and a backup without it would have a gap.
    private static func unreadable(_ error: BackupError, _ path: String) -> BackupError {
        switch error.code {
        case .interrupted, .noResources: error
        default: BackupError(.sourceUnreadable, error.message, path: path)
        }
    }

    static func openingFolder(
        _ name: FileName, in folder: borrowing DirectoryReader, _ path: String
    ) throws(BackupError) -> DirectoryReader {
        do {
            return try folder.openDirectory(name)
        } catch {
            throw unreadable(error, path)
        }
    }
}
