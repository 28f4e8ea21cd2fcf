import BackupCore
import SystemIO

/// A file that becomes an object. Until then it is in the storage's own folder, where no listing shows it.
final class FolderDraft: Sendable {
    private static let prefix = "draft-"
    private static let blockSizeBytes: UInt64 = 1 << 20
    /// What a program that died left behind is removed after a day: no program writes one object for so long.
    private static let staleSeconds: Int64 = 86_400

    let folder: DirectoryHandle
    let name = FileName(FolderDraft.prefix + RandomToken.make())
    private let file: SharedFile

    /// - Parameter owner: `nil` for this program's user.
    init(in folder: DirectoryHandle, owner: FileOwner?) throws(BackupError) {
        self.folder = folder
        file = try SharedFile(folder.createFile(name, permissions: 0o600))
        // File systems without owners refuse.
        if let owner { try? file.withDescriptor { (file) throws(BackupError) in try file.setOwner(owner) } }
    }

    /// Writes all bytes, and makes them durable.
    /// - Throws: `damagedContent` when they do not fit the SHA-256 or the size.
    func write(_ draft: ObjectDraft) throws(BackupError) {
        let source = draft.shielded.source
        var hasher = SHA256Hasher()
        var buffer = [UInt8](repeating: 0, count: Int(min(draft.sizeBytes, Self.blockSizeBytes)))
        var offset: UInt64 = 0
        while offset < draft.sizeBytes {
            try Cancellation.check()
            let wanted = Int(min(draft.sizeBytes - offset, UInt64(buffer.count)))
            try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted])
                guard try source.readFully(at: offset, into: part) == wanted else { throw differs }
                hasher.update(UnsafeRawBufferPointer(part))
                try file.write(UnsafeRawBufferPointer(part), at: offset)
            }
            offset += UInt64(wanted)
        }
        guard hasher.finish() == draft.sha256 else { throw differs }
        // The nanoseconds make the version of this object another one than that of any other object of this name.
        let seconds = try file.status().modificationTime.seconds
        try set(Timestamp(seconds: seconds, nanoseconds: .random(in: 0..<1_000_000_000)))
        try file.synchronize()
    }

    private var differs: BackupError {
        BackupError(
            .damagedContent, "the bytes that were to be stored differ from their SHA-256", path: "\(folder.path)/\(name)",
            remedy: "Try again. If it happens again, the source changes all the time, or the memory of the computer is damaged.")
    }

    /// Makes the version another one than that of the state that is replaced.
    /// - Parameter old: the time of that state.
    func setTime(after old: Timestamp) throws(BackupError) {
        guard try file.status().modificationTime <= old else { return }
        let next =
            old.nanoseconds < 999_999_999
            ? Timestamp(seconds: old.seconds, nanoseconds: old.nanoseconds + 1) : old.wholeSeconds.adding(seconds: 1)
        // Some file systems keep seconds only, FAT every other one.
        for time in [next, old.adding(seconds: 1), old.adding(seconds: 2)] {
            try set(time)
            if try file.status().modificationTime > old { break }
        }
        try file.synchronize()
    }

    private func set(_ time: Timestamp) throws(BackupError) {
        try file.withDescriptor { (file) throws(BackupError) in try file.setModificationTime(time) }
    }

    func status() throws(BackupError) -> FileStatus { try file.status() }

    /// Removes it; a no-op when it has become an object.
    func discard() throws(BackupError) { try folder.removeFile(name) }

    /// Removes the files of programs that died long ago, by the clock of the file system.
    static func removeStale(in folder: DirectoryHandle, before file: FolderDraft) throws(BackupError) {
        let now = try file.status().modificationTime
        for name in try folder.names() where name.bytes.starts(with: prefix.utf8) {
            guard let time = try folder.statusIfPresent(name)?.modificationTime else { continue }
            if now.secondsSince(time) > staleSeconds { try folder.removeFile(name) }
        }
    }

    /// Whether the file system has hard links.
    static func canLink(in folder: DirectoryHandle) throws(BackupError) -> Bool {
        let (name, second) = (FileName(prefix + RandomToken.make()), FileName(prefix + RandomToken.make()))
        _ = try folder.createFile(name, permissions: 0o600)
        defer { for name in [second, name] { try? folder.removeFile(name) } }
        do throws(BackupError) {
            try folder.link(name, in: folder, as: second)
            return true
        } catch {
            if [.offline, .noSpace, .noResources, .interrupted].contains(error.ofStorage.code) { throw error }
            return false
        }
    }
}
