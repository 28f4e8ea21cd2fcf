import BackupCore
import Glibc
import Synchronization
import SystemIO

/// Objects as files of a folder: on a local disk, over NFS or sshfs, or in a folder that another program synchronizes. The name
/// of an object is the path of its file.
///
/// What a folder cannot keep as a server does:
/// - A name cannot also be the folder of another one: where there is `a/b`, `a` is refused, and the other way round.
/// - The file system must distinguish upper and lower case and keep the bytes of names. One that does not shows one object under
///   two names.
/// - `compareAndSwap` and `conditionalRemove` need locks, which exclude other hosts on NFS and CephFS, but not on FUSE file
///   systems such as sshfs. No lock excludes a program that synchronizes the folder.
///
/// Links, sockets, pipes, devices and files whose names are no object names are no objects: they are neither listed nor found nor
/// followed, and never replaced. Folders stay when their last object is removed.
///
/// A version is made of the size of the file and its modification time, in nanoseconds. The system's clock counts in steps of
/// some milliseconds, so `create` and `replace` choose the nanoseconds themselves: at random for a new object, and for another
/// state of one always a later time than that of the state before. Two states are therefore distinct however fast they follow
/// each other. The inode and the change time are left out: some file systems make up inodes, and a hard link or a changed mode
/// would look like another content. Two things are not noticed: a change by another program that keeps size and time, and, where
/// times are kept in seconds (FAT, sshfs), that an object was removed and made again with the same size within two seconds.
public final class FolderStorage: ObjectStorage {
    private static let folderLimit = 4096

    public let location: String
    public let capabilities: StorageCapabilities
    let root: FolderRoot
    /// Whether the file system has hard links; `nil` until it was tried.
    private let linkSupport: Mutex<Bool?>
    /// Whether files of dead programs were looked for.
    let hasSwept = Atomic<Bool>(false)
    /// Paths of folders whose own names are durable.
    let durableFolders = Mutex<Set<[UInt8]>>([])

    /// - Parameter path: a folder that exists.
    /// - Throws: `offline` when there is no such folder.
    public init(path: String) throws(BackupError) {
        let (path, root) = (FileSystem.absolutePath(path), try FolderRoot(path: FileSystem.absolutePath(path)))
        let folder = try root.open()
        let hasLocks = FileSystem.hasLocksForAllHosts(folder.descriptor)
        var capabilities: StorageCapabilities = [.rangedReads]
        if !root.isShared { capabilities.insert(.cheapRandomReads) }
        if hasLocks { capabilities.formUnion([.conditionalCreate, .compareAndSwap, .conditionalRemove]) }
        var canLink: Bool?
        if folder.isWritable(".") {
            capabilities.insert(.removal)
            if !hasLocks {
                canLink = try? FolderDraft.canLink(in: root.controlFolder(in: folder))
                if canLink == true { capabilities.insert(.conditionalCreate) }
            }
        }
        location = path
        self.root = root
        linkSupport = Mutex(canLink)
        self.capabilities = capabilities
    }

    /// Whether a name can be given to a file without replacing another client's, and without a lock: renameat2(2) does that on
    /// most file systems that have hard links, and link(2) on the others.
    func canLink(in control: DirectoryHandle) throws(BackupError) -> Bool {
        if let known = linkSupport.withLock({ $0 }) { return known }
        let found = try FolderDraft.canLink(in: control)
        linkSupport.withLock { $0 = found }
        return found
    }

    /// Makes the folder, for its owner alone, if it is missing.
    public static func make(at path: String) throws(BackupError) -> FolderStorage {
        try BackupError.ofStorage { () throws(BackupError) in try FileSystem.makeDirectories(FileSystem.absolutePath(path)) }
        return try FolderStorage(path: path)
    }

    public func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        try BackupError.ofStorage { () throws(BackupError) in
            var listing = FolderListing(
                prefix: Array(prefix.utf8), after: previous.map { Array($0.text.utf8) } ?? [], limit: limit)
            try listing.run(root)
            return listing.page
        }
    }

    public func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? {
        let components = try Self.components(of: name)
        return try BackupError.ofStorage { () throws(BackupError) in try look(name, components, in: root.open()) }
    }

    func look(
        _ name: ObjectName, _ components: [FileName], in folder: DirectoryHandle
    ) throws(BackupError) -> ObjectFacts? {
        guard let parent = try folder.openFolder(at: components.dropLast()), let last = components.last,
            let status = try parent.statusIfPresent(last), status.kind == .regular
        else { return nil }
        return Self.facts(of: name, status)
    }

    public func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts {
        let components = try Self.components(of: name)
        let file = try BackupError.ofStorage { () throws(BackupError) -> SharedFile? in
            // Opening a device may have any effect, and a socket cannot be opened.
            guard let parent = try root.open().openFolder(at: components.dropLast()), let last = components.last,
                try parent.statusIfPresent(last)?.kind == .regular, let file = try parent.openFileIfPresent(last)
            else { return nil }
            return try SharedFile(file)
        }
        guard let file else { throw missing(name) }
        let facts = try BackupError.ofStorage { () throws(BackupError) in Self.facts(of: name, try file.status()) }
        // Of the open file: one that takes its name meanwhile has other bytes.
        let end = min(range?.upperBound ?? .max, facts.sizeBytes)
        var offset = min(range?.lowerBound ?? 0, end)
        var buffer = [UInt8](repeating: 0, count: Int(min(end - offset, 1 << 18)))
        while offset < end {
            let wanted = Int(min(end - offset, UInt64(buffer.count)))
            try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted])
                let count = try BackupError.ofStorage { () throws(BackupError) in try file.read(at: offset, into: part) }
                guard count == wanted else {
                    throw BackupError(
                        .conflict, "the file became shorter while it was read", path: path(name),
                        remedy: "Another program changes the storage's files: let it leave them alone.")
                }
                try consume(UnsafeRawBufferPointer(part))
            }
            offset += UInt64(wanted)
        }
        return facts
    }

    // MARK: Names

    /// - Throws: `invalidArgument` for a name that the storage or a file system uses itself.
    static func components(of name: ObjectName) throws(BackupError) -> [FileName] {
        let components = BytePath.components(of: Array(name.text.utf8))
        if components.first == FolderRoot.controlFolderName || components.contains(where: isTemporary) {
            throw BackupError(
                .invalidArgument, "the name is reserved for temporary files", path: name.text, remedy: "Choose another name.")
        }
        return components
    }

    /// Names that NFS and FUSE give to files which are removed or replaced while they are open.
    static func isTemporary(_ name: FileName) -> Bool {
        name.bytes.starts(with: ".nfs0".utf8) || name.bytes.starts(with: ".fuse_hidden".utf8)
    }

    static func facts(of name: ObjectName, _ status: FileStatus) -> ObjectFacts {
        ObjectFacts(
            name: name, sizeBytes: status.size, version: version(of: status), storedAt: status.modificationTime.wholeSeconds)
    }

    static func version(of status: FileStatus) -> ObjectVersion {
        let time = status.modificationTime
        return ObjectVersion("\(status.size)-\(time.seconds).\(time.nanoseconds)")
    }

    /// The path of an object's file, for messages.
    func path(_ name: ObjectName) -> String { "\(location)/\(name.text)" }

    func missing(_ name: ObjectName) -> BackupError {
        BackupError(.notFound, "there is no such object", path: path(name))
    }

    // MARK: Folders

    /// The folder of an object, made if it is missing. Its name, and those of the folders above it, are durable.
    func parentFolder(of components: [FileName], in folder: DirectoryHandle) throws(BackupError) -> DirectoryHandle {
        let names = components.dropLast()
        let path = BytePath.joined(names)
        if durableFolders.withLock({ $0.contains(path) }), let parent = try folder.openFolder(at: names) { return parent }
        var parent = folder
        for name in names {
            let (next, isNew): (DirectoryHandle, Bool)
            do throws(BackupError) {
                (next, isNew) = try root.openOrMake(name, in: parent)
            } catch {
                guard error.code == .notADirectory else { throw error }
                throw error.with(
                    .notSupported, "an object or another file has the name of a folder that this object needs",
                    remedy: "Choose another name, or another kind of storage.")
            }
            // Another client may have made it just now, and not yet made it durable.
            if isNew || !durableFolders.withLock({ $0.contains(path) }) { try parent.synchronize() }
            parent = next
        }
        durableFolders.withLock { folders in
            if folders.count >= Self.folderLimit { folders = [] }
            folders.insert(path)
        }
        return parent
    }
}
