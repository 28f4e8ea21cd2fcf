import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A destination during a job, for all threads.
final class Destination: Sendable {
    let place: DestinationPlace
    let root: DirectoryHandle
    let identity: FileIdentity
    /// Whether it is the payload of a bag that is there: a file more would be one that its list lacks.
    let isInBag: Bool
    /// Whether a copy whose name is taken may get another one.
    let mayRename: Bool
    private let failure = Mutex<BackupError?>(nil)
    private let lastNumber = Atomic<UInt64>(0)

    /// Bytes of files that were written, or compared with a file that is there.
    let writtenBytes = Atomic<UInt64>(0)
    /// Bytes that were read back.
    let verifiedBytes = Atomic<UInt64>(0)
    /// The time that reading back has taken.
    let verifyingNanoseconds = Atomic<UInt64>(0)
    /// Bytes of files that need not be copied.
    let skippedBytes = Atomic<UInt64>(0)
    /// Files that have failed in this run.
    let failedCount = Atomic<UInt64>(0)
    let madeFolders: MadeFolders
    /// Files whose rows are written.
    let finishedCount = Atomic<UInt64>(0)
    /// Bytes that wait to be written.
    let waitingBytes = Atomic<UInt64>(0)

    /// Opens the folder, and makes it if the job does that.
    init(_ place: DestinationPlace, _ options: CopyOptions, madeFolders: MadeFolders) throws(BackupError) {
        self.place = place
        isInBag = options.manifests.contains(.bagit) ? try place.isInBag : false
        mayRename = try place.mayRename(options)
        self.madeFolders = madeFolders
        if place.isMade {
            try FileSystem.makeDirectory(place.path)
            try FileSystem.synchronizeDirectory(FileSystem.parentPath(place.path))
        }
        root = try DirectoryHandle(path: place.path)
        identity = FileIdentity(try root.descriptor.status())
    }

    /// Why nothing more is copied to it; `nil` while it works.
    var error: BackupError? { failure.withLock { $0 } }

    /// Gives it up: the other destinations go on. The first error counts.
    func fail(_ error: BackupError) { failure.withLock { if $0 == nil { $0 = error } } }

    /// Another file has the name of a copy.
    func conflict(_ folder: DirectoryHandle, _ name: FileName) -> BackupError {
        // A row has the message alone.
        isInBag
            ? BackupError(
                .conflict,
                "another file has the name in the destination, and the list of the bag has that file: copy into another folder",
                path: "\(folder.path)/\(name)")
            : BackupError(
                .conflict, "another file has the name in the destination", path: "\(folder.path)/\(name)",
                remedy: "Move it away, or copy with --on-conflict rename.")
    }

    /// - Throws: `conflict` when a new file would make a bag that is there invalid.
    func requireRoom(for name: FileName, in folder: DirectoryHandle) throws(BackupError) {
        guard isInBag else { return }
        throw BackupError(
            .conflict,
            "the bag that is there lacks this file, and its list is not written again: copy into another folder",
            path: "\(folder.path)/\(name)")
    }

    func nextNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }

    /// - Throws: when another folder, or another file system, has its path now: its disk was pulled out.
    func requirePresent() throws(BackupError) {
        guard try FileSystem.identityIfPresent(place.path) == identity else {
            throw BackupError(
                .inputOutput, "the destination has gone: another folder, or none, is in its place", path: place.path,
                remedy: "Check its disk, mount it again, and resume the job.")
        }
    }

    private static let deviceErrors: Set<Int32> = [
        ENOSPC, EDQUOT, EIO, EROFS, ENODEV, ENXIO, ESTALE, ENOTCONN, EHOSTDOWN, ETIMEDOUT, ESHUTDOWN, ENOMEDIUM,
    ]

    /// Whether an error of one file will be that of all others, too.
    static func isOfDevice(_ error: BackupError) -> Bool {
        if case .system(_, let number) = error.cause { return deviceErrors.contains(number) }
        return error.code == .inputOutput || error.code == .noSpace || error.code == .readOnly
    }
}

/// Opens the folders of a destination. For one thread.
final class TargetFolders {
    private let root: DirectoryHandle
    private let device: UInt64
    private let madeFolders: MadeFolders
    private let keepsLast: Bool
    private var last: (path: [FileName], handle: DirectoryHandle)?
    /// Folders that were made here.
    private var made: Set<[FileName]> = []
    /// Whether the folder that was opened last was made here: only other programs put anything else into it.
    private(set) var isLastNew = false
    /// Whether a folder that was opened lies on another file system than the destination.
    private(set) var hasOtherDevice = false

    /// - Parameter keepsLast: whether the folders stay where they are meanwhile.
    init(_ destination: Destination, keepsLast: Bool = true) {
        self.keepsLast = keepsLast
        root = destination.root
        device = destination.identity.device
        madeFolders = destination.madeFolders
    }

    /// - Throws: `notFound`.
    func open(_ path: [FileName]) throws(BackupError) -> DirectoryHandle {
        if keepsLast, let last, last.path == path { return last.handle }
        return try remember(path, root.openDirectory(at: path[...]))
    }

    /// The same; makes the folders that are missing.
    /// - Parameter report: called for each, with the path of the folder that has it.
    func openOrMake(_ path: [FileName], reporting report: ([FileName]) -> Void) throws(BackupError) -> DirectoryHandle {
        if keepsLast, let last, last.path == path { return last.handle }
        if let handle = try root.openFolder(at: path[...]) { return try remember(path, handle) }
        var handle = root
        for (index, name) in path.enumerated() {
            if let next = try handle.openFolder(name) {
                handle = next
            } else {
                handle = try make(name, in: handle, at: Array(path[...index]))
                report(Array(path[..<index]))
            }
        }
        return try remember(path, handle)
    }

    private func make(_ name: FileName, in folder: DirectoryHandle, at path: [FileName]) throws(BackupError) -> DirectoryHandle {
        try madeFolders.add(path)
        do throws(BackupError) {
            let handle = try folder.makeFolder(name)
            if keepsLast { made.insert(path) }
            try FaultInjection.reached("copy.folder-made")
            return handle
        } catch {
            // Another copy into this destination was faster.
            guard error.code == .alreadyExists, let handle = try folder.openFolder(name) else { throw error }
            try madeFolders.takeBack(path)
            return handle
        }
    }

    private func remember(_ path: [FileName], _ handle: DirectoryHandle) throws(BackupError) -> DirectoryHandle {
        if try handle.descriptor.status().device != device { hasOtherDevice = true }
        last = (path, handle)
        isLastNew = made.contains(path)
        return handle
    }
}
