import BackupCore
import Glibc
import SystemIO

/// The bytes of photos that were copied into `photos/starred/`: `photos/copies/` in the store, a file for each content, with the
/// SHA-256 as its name. A program that moves a photo copies it and then removes the original: this may be the only copy.
public struct KeptCopies: Sendable {
    static let draftSuffix = ".draft"

    /// `photos/copies` in the store.
    public let folder: String
    /// Held while a copy and the star that refers to it change together.
    private let lockPath: String

    /// - Parameter root: the folder `photos` of the store.
    init(root: String) {
        folder = "\(root)/copies"
        lockPath = "\(root)/copies.lock"
    }

    private func path(of sha256: SHA256Digest) -> String { "\(folder)/\(sha256.hexadecimal)" }

    /// Runs `body` while no other process keeps or removes a copy.
    public func withLock<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        try QueueFolder.withLock(lockPath, body)
    }

    // MARK: Reading

    /// What is known of a copy without reading it.
    /// - Returns: `nil` when there is none. Storage that cannot be read is an error.
    public func status(of sha256: SHA256Digest) throws(BackupError) -> FileStatus? {
        guard let status = try FileSystem.look(path(of: sha256)), status.kind == .regular else { return nil }
        return status
    }

    /// - Returns: `nil` when there is none. The bytes are not checked.
    public func open(_ sha256: SHA256Digest) throws(BackupError) -> SharedFile? {
        try FileSystem.ifPresent { () throws(BackupError) in try SharedFile(path: path(of: sha256)) }
    }

    /// Whether there is a copy whose bytes are those of its name. Reads all of it.
    public func isIntact(_ sha256: SHA256Digest) throws(BackupError) -> Bool { try open(sha256)?.sha256() == sha256 }

    /// The contents of which there are copies.
    public func all() throws(BackupError) -> [SHA256Digest] {
        try FileSystem.names(in: folder).compactMap { SHA256Digest(hexadecimal: $0.description) }
    }

    // MARK: Changes

    /// Makes a file for bytes that arrive.
    public func makeDraft() throws(BackupError) -> CopyDraft {
        try FileSystem.makeDirectories(folder)
        return try CopyDraft(path: "\(folder)/\(RandomToken.make())\(Self.draftSuffix)")
    }

    /// Keeps the bytes of a draft, in place of a copy that may be damaged. Durable when it returns. Within `withLock`.
    /// - Parameter sha256: of all bytes of the draft, which is on the disk already (`CopyDraft.finish`).
    /// - Returns: whether there was none of that name before.
    @discardableResult
    public func keep(_ draft: CopyDraft, as sha256: SHA256Digest) throws(BackupError) -> Bool {
        let isNew = try !FileSystem.exists(path(of: sha256))
        try draft.rename(to: path(of: sha256))
        do throws(BackupError) {
            try FileSystem.synchronizeDirectory(folder)
        } catch {
            if isNew { try? FileSystem.removeFile(path(of: sha256)) }
            throw error
        }
        return isNew
    }

    /// Durable when it returns. Within `withLock`.
    public func remove(_ sha256: SHA256Digest) throws(BackupError) {
        try FileSystem.removeFile(path(of: sha256))
        try FileSystem.synchronizeDirectory(folder)
    }

    /// Removes the drafts of processes that were killed. Their programs were not informed that anything was copied. What was set
    /// aside stays.
    public func sweepDrafts() throws(BackupError) {
        for name in try FileSystem.names(in: folder) where name.description.hasSuffix(Self.draftSuffix) {
            let path = "\(folder)/\(name)"
            if try !AdvisoryLock.isHeld(path: path) { try FileSystem.removeFile(path) }
        }
    }
}
