import BackupCore
import SystemIO

/// All requests that the kernel can make to the tree, independent of FUSE: `FUSEBridge` translates requests into these calls, and
/// tests call them directly. Calls come from several threads concurrently.
public protocol TreeOperations: AnyObject, Sendable {
    /// Finds a name in a folder and counts one lookup, which `forget` releases.
    func lookUp(_ name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes
    /// How long the kernel may cache that `lookUp` finds nothing with that name, in seconds.
    func absenceTimeoutSeconds(of name: FileName, in parent: InodeNumber) -> Double
    /// Releases `count` lookups; at zero the number may be forgotten.
    func forget(_ inode: InodeNumber, count: UInt64)
    /// What a request for the node may wait for long; `nil` if it does not wait. Never blocks.
    func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait?
    /// Whether access to the node has to wait for an unfinished backup. Never blocks; `TreeObserver.pendingEnded` signals when to
    /// ask again.
    /// - Parameter forAttributes: whether the access is only for the node's attributes, or for a name in it.
    func isPending(_ inode: InodeNumber, forAttributes: Bool) -> Bool

    /// - Parameter handle: the open file through which they are requested; `nil` for a path.
    func attributes(of inode: InodeNumber, handle: HandleNumber?) throws(BackupError) -> NodeAttributes
    /// - Returns: the attributes afterwards.
    func setAttributes(
        of inode: InodeNumber, to change: AttributeChange, handle: HandleNumber?
    ) throws(BackupError) -> NodeAttributes
    /// The target of a symbolic link.
    func readLink(_ inode: InodeNumber) throws(BackupError) -> [UInt8]

    /// - Parameters:
    ///   - flags: those of open(2).
    ///   - process: the process that opens it; 0 when the kernel does not report it.
    func openFile(_ inode: InodeNumber, flags: Int32, process: Int32) throws(BackupError) -> OpenedFile
    /// The same.
    /// - Parameter give: called before this returns, at most once, with the whole content of a small file that never changes, if
    ///   no program has opened it since it was looked up.
    func openFile(
        _ inode: InodeNumber, flags: Int32, process: Int32, givingContent give: (UnsafeRawBufferPointer) -> Void
    ) throws(BackupError) -> OpenedFile
    /// Creates and opens a file; counts one lookup.
    func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile)
    /// The same.
    /// - Parameter permissions: of the file, where the folder keeps them.
    func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32, permissions: UInt16
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile)
    /// - Returns: bytes read: fewer than `buffer.count` only at the end of the file.
    func read(
        _ handle: HandleNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int
    /// Notes who is about to write to a file, or to copy into it.
    /// - Parameter process: the thread that does; 0 when the kernel does not report it.
    func noteWriter(_ process: Int32, of handle: HandleNumber)
    /// Writes all bytes; after an error a part of them may be written.
    func write(_ handle: HandleNumber, at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError)
    /// copy_file_range(2), within this tree. Immutable content is only referenced.
    /// - Returns: bytes copied: fewer than `count` at the end of the source, and if copying all of it would take long; at most
    ///   `UInt32.max`.
    func copy(
        from source: HandleNumber, at sourceOffset: UInt64, to handle: HandleNumber, at offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64
    /// A close(2) of one descriptor; its error is what close(2) returns.
    func flush(_ handle: HandleNumber, process: Int32) throws(BackupError)
    /// fsync(2).
    func synchronize(_ handle: HandleNumber) throws(BackupError)
    /// The last descriptor was closed; errors cannot be reported any more.
    func release(_ handle: HandleNumber)

    /// - Throws: `notFound`, `notADirectory`; errors of the repository.
    func openDirectory(_ inode: InodeNumber) throws(BackupError) -> OpenedDirectory
    /// Lists a folder from `offset` (0 at the start), `.` and `..` first. `body` gets each name, its attributes and the offset to
    /// continue from. It returns false when it has no space left; that name is not counted then and comes again.
    /// - Parameter countsLookUps: whether each accepted name counts one lookup (READDIRPLUS does, except for `.` and `..`).
    func readDirectory(
        _ handle: HandleNumber, from offset: UInt64, countsLookUps: Bool,
        _ body: (_ name: FileName, _ attributes: NodeAttributes, _ nextOffset: UInt64) -> Bool
    ) throws(BackupError)
    /// The last descriptor of the folder was closed.
    func releaseDirectory(_ handle: HandleNumber)

    /// In `snapshots/` this makes a backup. It returns when the backup is durable, or after some time with a pending folder.
    /// Counts one lookup.
    /// - Parameter isCancelled: whether the requesting program has stopped waiting; the backup then ends. Polled repeatedly.
    func makeDirectory(
        _ name: FileName, in parent: InodeNumber, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes
    /// The same.
    /// - Parameter permissions: of the folder, where its parent keeps them.
    func makeDirectory(
        _ name: FileName, in parent: InodeNumber, permissions: UInt16, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes
    /// Deletes a backup: it can be brought back within the grace period.
    func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(BackupError)
    /// Makes a symbolic link, where the folder allows it. Counts one lookup.
    /// - Throws: `notPermitted` elsewhere.
    func makeSymbolicLink(_ name: FileName, to target: [UInt8], in parent: InodeNumber) throws(BackupError) -> NodeAttributes
    /// Gives a file a second name, where the folder allows it. Counts one lookup.
    /// - Throws: `notPermitted` elsewhere.
    /// - Returns: the attributes of the file.
    func link(_ inode: InodeNumber, as name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes
    /// Removes a file or a symbolic link, where the folder allows it.
    func removeFile(_ name: FileName, in parent: InodeNumber) throws(BackupError)
    /// - Parameter mayReplace: false for `RENAME_NOREPLACE`.
    func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber, mayReplace: Bool
    ) throws(BackupError)

    /// - Throws: `noAttribute` when there is no attribute with that name.
    func extendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError) -> [UInt8]
    /// The names that `extendedAttribute` has values for, in a fixed order.
    func extendedAttributeNames(of inode: InodeNumber) throws(BackupError) -> [String]
    /// Sets one of the few attributes that can be set; the others are refused.
    func setExtendedAttribute(_ name: String, of inode: InodeNumber, to value: [UInt8]) throws(BackupError)
    /// Removes an attribute that can be removed; the others are refused.
    func removeExtendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError)

    /// Space of the disk that holds the store.
    func space() throws(BackupError) -> FileSystemSpace

    /// Sets the observer of changes that make the kernel's caches stale; `nil` for none.
    func setObserver(_ observer: (any TreeObserver)?)
}

extension TreeOperations {
    public func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait? { nil }
    public func isPending(_ inode: InodeNumber, forAttributes: Bool) -> Bool { false }
    public func noteWriter(_ process: Int32, of handle: HandleNumber) {}

    public func openFile(
        _ inode: InodeNumber, flags: Int32, process: Int32, givingContent give: (UnsafeRawBufferPointer) -> Void
    ) throws(BackupError) -> OpenedFile {
        try openFile(inode, flags: flags, process: process)
    }

    public func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32, permissions: UInt16
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile) {
        try createFile(name, in: parent, flags: flags, process: process)
    }

    public func makeDirectory(
        _ name: FileName, in parent: InodeNumber, permissions: UInt16, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes {
        try makeDirectory(name, in: parent, unless: isCancelled)
    }
}

/// The subject of a request, as far as it determines what the request may wait for.
public enum RequestAim: Sendable {
    /// The node's attributes.
    case attributes
    /// The node's contents: names or bytes.
    case content
    case extendedAttribute
    /// The names of all extended attributes.
    case attributeNames
    case change
    /// A new folder, link or special file.
    case making
    /// A write to a file that is being created here.
    case writing
    /// A close(2) of one descriptor, or the last one.
    case closing
}

/// What may block a request for long. Requests that wait for one of these must not use up all threads or block the others.
public enum RequestWait: Sendable, Hashable {
    /// The app's database or its media folder.
    case app
    /// The storage that the store is on.
    case store
    /// The same storage, for files being copied into `restore/`.
    case drop
    /// The storage that the repository is on.
    case repository
    /// Checksums of large contents.
    case checksums
    /// A server on the network, where a copy of the repository is.
    case network
    /// A change of the repository. The kernel keeps the folder locked meanwhile.
    case change
    /// The destinations of the set with this name, for closes and changes there.
    case copySet(String)
    /// The same disks, for looking at them.
    case copySetView(String)
    /// The source and the destinations of a copy job that is asked to go on.
    case job
    /// Stars that stand for bytes which are read: those of a copy in `photos/starred/` when it is closed.
    case star

    /// Whether requests that wait for this only read. They may take minutes, for a server that does not respond or an export
    /// that has to be rendered, and are cancelled when the mount ends.
    public var isOfView: Bool {
        switch self {
        case .app, .repository, .checksums, .network: true
        case .store, .drop, .change, .copySet, .copySetView, .job, .star: false
        }
    }
}

/// What chmod(2), truncate(2), utimensat(2) and chown(2) request; `nil` leaves a value unchanged.
public struct AttributeChange: Sendable {
    /// In bytes.
    public var size: UInt64?
    /// Permission bits (0 to 0o777).
    public var permissions: UInt16?
    /// The current time where the caller requested that.
    public var modificationTime: Timestamp?
    /// Another owner or group was requested.
    public var changesOwner: Bool

    public init(
        size: UInt64? = nil, permissions: UInt16? = nil, modificationTime: Timestamp? = nil, changesOwner: Bool = false
    ) {
        self.size = size
        self.permissions = permissions
        self.modificationTime = modificationTime
        self.changesOwner = changesOwner
    }
}

/// The stat(2) data of a node, and how long the kernel may cache it.
public struct NodeAttributes: Sendable, Equatable {
    /// The number that the kernel uses.
    public var inode: InodeNumber
    /// The number that users and programs see. It stays the same where each state of a file is a separate node.
    public var shownInode: InodeNumber
    public var kind: FileKind
    /// Permission bits only (0 to 0o777).
    public var permissions: UInt16
    /// Exact size in bytes; for a symbolic link the length of its target.
    public var size: UInt64
    /// Shown as the change time as well.
    public var modificationTime: Timestamp
    /// The node never changes during the mount: the kernel may cache its attributes and pages.
    public var isImmutable: Bool
    /// How long the kernel may cache the name, in seconds; 0 makes it ask each time.
    public var entryTimeoutSeconds: Double
    /// How long the kernel may cache these attributes, in seconds.
    public var attributeTimeoutSeconds: Double

    public init(
        inode: InodeNumber, shownInode: InodeNumber? = nil, kind: FileKind, permissions: UInt16, size: UInt64,
        modificationTime: Timestamp,
        isImmutable: Bool = false, entryTimeoutSeconds: Double = 0, attributeTimeoutSeconds: Double = 0
    ) {
        self.inode = inode
        self.shownInode = shownInode ?? inode
        self.kind = kind
        self.permissions = permissions
        self.size = size
        self.modificationTime = modificationTime
        self.isImmutable = isImmutable
        self.entryTimeoutSeconds = entryTimeoutSeconds
        self.attributeTimeoutSeconds = attributeTimeoutSeconds
    }

    /// For a name in a listing whose attributes could not be read.
    static func unread(_ inode: InodeNumber, _ kind: FileKind) -> NodeAttributes {
        NodeAttributes(
            inode: .unread, shownInode: inode, kind: kind, permissions: 0, size: 0, modificationTime: Timestamp(seconds: 0))
    }

    /// Whether they were read: otherwise only the kind and the shown number are known, and the kernel gets only the name.
    public var isRead: Bool { inode != .unread }
}

/// The properties of an open file for the kernel.
public struct OpenedFile: Sendable {
    public let handle: HandleNumber
    /// Pages cached during an earlier open are still valid (immutable files).
    public let keepsCache: Bool
    /// Reads and writes bypass the page cache (files that change without the kernel's knowledge).
    public let usesDirectIO: Bool

    public init(handle: HandleNumber, keepsCache: Bool, usesDirectIO: Bool) {
        self.handle = handle
        self.keepsCache = keepsCache
        self.usesDirectIO = usesDirectIO
    }
}

/// The properties of an open folder for the kernel.
public struct OpenedDirectory: Sendable {
    public let handle: HandleNumber
    /// The list of names may be cached for the next open (immutable folders).
    public let keepsCache: Bool

    public init(handle: HandleNumber, keepsCache: Bool) {
        self.handle = handle
        self.keepsCache = keepsCache
    }
}

/// A file's number in the tree, which the kernel uses and `ls -i` shows. A file has the same number in every mount.
public struct InodeNumber: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// The mountpoint itself (`FUSE_ROOT_ID`).
    public static let root = InodeNumber(1)
    /// In a listing with attributes, the kernel looks up a name with this number itself.
    static let unread = InodeNumber(0)
}

/// An open file or folder, as long as the kernel keeps it open.
public struct HandleNumber: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// The side that serves the tree to the kernel. It is informed when data cached by
/// the kernel becomes stale. The calls come from any thread and return immediately.
public protocol TreeObserver: AnyObject, Sendable {
    /// Size, times or modes have changed.
    func attributesChanged(_ inode: InodeNumber)
    /// Returns when the kernel has received all notifications so far, or after a second.
    func waitUntilNotified()
    /// A node for which `TreeOperations.isPending` was true is no longer pending.
    func pendingEnded()
    /// The symbolic link with this number has no target any more: the kernel must not keep the one that it has.
    func linkReplaced(_ inode: InodeNumber)
    /// Whether `linkReplaced` has an effect.
    var notifiesOfLinks: Bool { get }
    /// Returns when the effect of `linkReplaced` was reached for all links so far, or after a second. Do not call it while the
    /// kernel waits for an answer about one of them.
    func waitUntilLinksNotified()
}

/// An observer of a kernel that keeps no targets of links.
extension TreeObserver {
    public func linkReplaced(_ inode: InodeNumber) {}
    public var notifiesOfLinks: Bool { false }
    public func waitUntilLinksNotified() {}
}

/// A tree without links of its users.
extension TreeOperations {
    public func makeSymbolicLink(
        _ name: FileName, to target: [UInt8], in parent: InodeNumber
    ) throws(BackupError) -> NodeAttributes {
        throw .noLinksHere(name)
    }

    public func link(_ inode: InodeNumber, as name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes {
        throw .noLinksHere(name)
    }
}

extension BackupError {
    /// The error for links where the tree has none; POSIX's own for a file system without them.
    static func noLinksHere(_ name: FileName) -> BackupError {
        BackupError(.notPermitted, "links cannot be made here", path: name.description)
    }
}
