import BackupCore
import Glibc
import SystemIO

/// The folder of a `FolderStorage`: finds it again for each call, and notices when its disk is gone.
///
/// A disk that is not mounted leaves no folder, or an empty one in its place. Neither may look like a storage without objects.
final class FolderRoot: Sendable {
    /// Never an object. It holds the lock and the files that become objects.
    static let controlFolderName: FileName = ".backupfs-storage"
    private static let lockName: FileName = "lock"
    private static let lockTimeoutNanoseconds: UInt64 = 60_000_000_000

    /// What the folder has in common with itself after the next mount, and no other folder has at the same path.
    private struct Identity: Sendable, Equatable {
        let inode: UInt64
        /// The file system's own number: the same after the next mount of the same disk. 0 where there is none, and where it
        /// takes a request over the network to find out.
        let fileSystemID: UInt64
        /// In place of the other number; the next file system that is mounted may get the same one.
        let device: UInt64
    }

    let path: String
    /// The owner of new files and folders: that of the storage, when root works in the storage of another user. A user could not
    /// read them otherwise.
    let owner: FileOwner?
    /// Whether other hosts may write to it.
    let isShared: Bool
    private let identity: Identity

    init(path: String) throws(BackupError) {
        self.path = path
        let folder = try Self.opened(path)
        let status = try folder.descriptor.status()
        owner = geteuid() == 0 && status.owner != 0 ? FileOwner(user: status.owner, group: status.group) : nil
        let isShared = try BackupError.ofStorage { () throws(BackupError) in try FileSystem.isShared(path) }
        self.isShared = isShared
        identity = try Self.identity(of: folder, isShared)
    }

    private static func identity(of folder: DirectoryHandle, _ isShared: Bool) throws(BackupError) -> Identity {
        try BackupError.ofStorage { () throws(BackupError) in
            let status = try folder.descriptor.status()
            let fileSystemID = isShared ? 0 : try folder.descriptor.space().fileSystemID
            return Identity(
                inode: status.inode, fileSystemID: fileSystemID, device: fileSystemID == 0 ? status.device : 0)
        }
    }

    /// The folder, which is the one that was there at first.
    /// - Throws: `offline` when it is missing or is another one; `interrupted` for a cancelled operation.
    func open() throws(BackupError) -> DirectoryHandle {
        try Cancellation.check()
        let folder = try Self.opened(path)
        guard try Self.identity(of: folder, isShared) == identity else {
            throw BackupError(
                .offline, "another folder is where the storage was", path: path,
                remedy: "Mount the disk of the storage, or start the program again if the storage was moved.")
        }
        return folder
    }

    private static func opened(_ path: String) throws(BackupError) -> DirectoryHandle {
        do throws(BackupError) {
            return try DirectoryHandle(path: path)
        } catch {
            guard error.code == .notFound || error.code == .notADirectory else { throw error.ofStorage }
            throw error.with(
                .offline, "the folder of the storage is not there",
                remedy: "Mount its disk, or check the path, and try again.")
        }
    }

    // MARK: The storage's own files

    /// The folder for the storage's own files, made if it is missing.
    func controlFolder(in folder: DirectoryHandle) throws(BackupError) -> DirectoryHandle {
        try openOrMake(Self.controlFolderName, in: folder).folder
    }

    /// A folder in the storage, accessible for its owner alone whatever the umask is.
    /// - Returns: also whether it was made; it is not durable then.
    func openOrMake(
        _ name: FileName, in parent: DirectoryHandle
    ) throws(BackupError) -> (folder: DirectoryHandle, isNew: Bool) {
        if let folder = try parent.openFolder(name) { return (folder, false) }
        try parent.makeDirectoryIfMissing(name)
        if DirectoryHandle.creationMask & 0o700 != 0 { parent.makeAccessible(name) }
        let folder = try parent.openDirectory(name)
        // File systems without owners refuse.
        if let owner { try? folder.descriptor.setOwner(owner) }
        return (folder, true)
    }

    /// Runs `body` while no other client of this storage replaces or removes an object.
    func withLock<Result>(
        _ control: DirectoryHandle, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let lock = try waitForLock { () throws(BackupError) in
            let file = try control.open(Self.lockName, O_RDWR | O_CREAT)
            if let owner { try? file.setOwner(owner) }
            let identity = FileIdentity(try file.status())
            let lock = try AdvisoryLock(locking: file)
            // A program that synchronizes or cleans folders may have removed the file: the next client locks another one.
            guard try control.statusIfPresent(Self.lockName).map({ FileIdentity($0) }) == identity else {
                throw BackupError(.busy, "the lock was removed", path: control.path)
            }
            return lock
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    /// Runs `body` while no client replaces or removes an object; where the lock cannot be read, without that certainty.
    func withSharedLock<Result>(
        _ folder: DirectoryHandle, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let lock = try waitForLock { () throws(BackupError) -> AdvisoryLock? in
            do throws(BackupError) {
                // Without a lock file, no client has ever replaced an object.
                guard let file = try folder.openFolder(Self.controlFolderName)?.openFileIfPresent(Self.lockName) else {
                    return nil
                }
                return try AdvisoryLock(locking: file, exclusive: false)
            } catch {
                if error.code == .busy { throw error }
                return nil
            }
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    /// - Parameter take: throws `busy` while another client has the lock.
    private func waitForLock<Lock>(_ take: () throws(BackupError) -> Lock) throws(BackupError) -> Lock {
        let end = SystemClock.monotonicNanoseconds() + Self.lockTimeoutNanoseconds
        while true {
            do throws(BackupError) {
                return try take()
            } catch {
                guard error.code == .busy else { throw error }
                guard SystemClock.monotonicNanoseconds() < end else {
                    throw error.with(
                        .offline, "another program keeps the storage locked", path: path,
                        remedy: "Wait until it has finished, or end it, and try again.")
                }
            }
            try Cancellation.check()
            usleep(UInt32.random(in: 200...2_000))
        }
    }
}

extension BackupError {
    /// The same with a code that `ObjectStorage` promises. What the system calls missing is no missing object: only the storage
    /// itself decides that.
    var ofStorage: BackupError {
        if case .system(_, let number)? = cause, Self.isGone(number) { return with(.offline) }
        switch code {
        case .notFound: return cause == nil ? self : with(.inputOutput)
        case .offline, .accessDenied, .noSpace, .alreadyExists, .conflict, .inputOutput, .damagedContent, .invalidArgument,
            .notSupported, .interrupted:
            return self
        case .readOnly, .notPermitted: return with(.accessDenied)
        case .nameTooLong: return with(.invalidArgument)
        default: return with(.inputOutput)
        }
    }

    /// Whether an errno says that the disk or the server of a file system is gone.
    private static func isGone(_ number: Int32) -> Bool {
        [ENOTCONN, ENODEV, ENXIO, ESTALE, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT].contains(number)
    }

    /// Runs calls of the file system; their errors get codes that `ObjectStorage` promises.
    static func ofStorage<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        do throws(BackupError) { return try body() } catch { throw error.ofStorage }
    }
}
