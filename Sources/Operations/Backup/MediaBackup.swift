import BackupCore
import BackupRepository
import Glibc
import Restore
import SystemIO

/// Stores the app's media folder into a running backup.
struct MediaBackup {
    private let writer: BackupWriter
    private let report: ProgressHandler
    private var buffer: [UInt8]
    private var progress = OperationProgress(phase: "Creating backup...")
    /// Files that could not be stored, and why; the backup goes on without them and says so.
    private(set) var unreadable: [String] = []

    init(writer: BackupWriter, report: @escaping ProgressHandler) {
        self.writer = writer
        self.report = report
        buffer = [UInt8](repeating: 0, count: 1 << 20)
    }

    /// - Throws: what the repository throws, or when the folder itself cannot be read; a single file that cannot be read is noted in `unreadable`.
    mutating func store(_ path: String) throws(BackupError) -> StoredDirectory {
        try store(DirectoryReader(path: path), relativePath: "")
    }

    private mutating func store(
        _ folder: borrowing DirectoryReader, relativePath: String
    ) throws(BackupError) -> StoredDirectory {
        var entries: [TreeEntry] = []
        for name in try folder.names() where !MediaFolder.isOurs(name) {
            let path = relativePath.isEmpty ? name.description : "\(relativePath)/\(name)"
            do {
                if let entry = try store(name, in: folder, path) { entries.append(entry) }
            } catch let error where Self.isOfSource(error) {
                unreadable.append("\(path): \(error.message)")
            }
        }
        return try writer.store(entries)
    }

    /// Whether it is the file that cannot be read, and not the repository that cannot be written.
    private static func isOfSource(_ error: BackupError) -> Bool { error.code == .sourceUnreadable }

    private mutating func store(
        _ name: FileName, in folder: borrowing DirectoryReader, _ path: String
    ) throws(BackupError) -> TreeEntry? {
        let status = try Self.reading(path) { () throws(BackupError) in try folder.status(name) }
        switch status.kind {
        case .directory:
            let inner = try Self.readingFolder(name, in: folder, path)
            let stored = try store(inner, relativePath: path)
            return .directory(name: name, mode: status.mode, modificationTime: status.modificationTime, stored: stored)
        case .symbolicLink:
            let target = try Self.reading(path) { () throws(BackupError) in try folder.readLink(name) }
            return .symbolicLink(name: name, target: target, modificationTime: status.modificationTime)
        case .regular:
            return try storeFile(name, in: folder, path)
        case .other:
            throw BackupError(.sourceUnreadable, "is neither a file nor a folder nor a link", path: path)
        }
    }

    /// Reads a file through. A file that changes meanwhile is read again, twice at most: then it is noted, since half of one state and
    /// half of another is worse than nothing.
    private mutating func storeFile(
        _ name: FileName, in folder: borrowing DirectoryReader, _ path: String
    ) throws(BackupError) -> TreeEntry {
        for _ in 0..<3 {
            let file = try Self.openingFile(name, in: folder, path)
            let before = try Self.status(file, path)
            let content = writer.makeContentWriter(.media)
            var offset: UInt64 = 0
            while true {
                let count = try read(file, at: offset, path)
                if count == 0 { break }
                try buffer.withUnsafeBytesThrowing(count: count) { (bytes) throws(BackupError) in try content.append(bytes) }
                offset += UInt64(count)
                progress.processedBytes += UInt64(count)
            }
            let after = try Self.status(file, path)
            // The change time too: a program that writes in place may set the modification time back.
            guard offset == before.size, before.size == after.size, before.modificationTime == after.modificationTime,
                before.changeTime == after.changeTime
            else { continue }
            let stored = try content.finish()
            progress.processedItems += 1
            report(progress)
            return .file(
                name: name, mode: before.mode, modificationTime: before.modificationTime, stored: stored,
                sourceIdentity: SourceIdentity(inode: before.inode, changeTime: before.changeTime))
        }
        throw BackupError(.sourceUnreadable, "changed again and again while it was read", path: path)
    }

    private mutating func read(_ file: borrowing OwnedDescriptor, at offset: UInt64, _ path: String) throws(BackupError) -> Int {
        do {
            return try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                try file.readFully(at: offset, into: bytes)
            }
        } catch {
            throw BackupError(.sourceUnreadable, error.message, path: path)
        }
    }

    private static func reading<Result>(
        _ path: String, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        do {
            return try body()
        } catch {
            throw BackupError(.sourceUnreadable, error.message, path: path)
        }
    }

    private static func openingFile(
        _ name: FileName, in folder: borrowing DirectoryReader, _ path: String
    ) throws(BackupError) -> OwnedDescriptor {
        do {
            return try folder.open(name, O_RDONLY)
        } catch {
            throw BackupError(.sourceUnreadable, error.message, path: path)
        }
    }

    private static func status(_ file: borrowing OwnedDescriptor, _ path: String) throws(BackupError) -> FileStatus {
        do {
            return try file.status()
        } catch {
            throw BackupError(.sourceUnreadable, error.message, path: path)
        }
    }

    private static func readingFolder(
        _ name: FileName, in folder: borrowing DirectoryReader, _ path: String
    ) throws(BackupError) -> DirectoryReader {
        do {
            return try folder.openDirectory(name)
        } catch {
            throw BackupError(.sourceUnreadable, error.message, path: path)
        }
    }
}
