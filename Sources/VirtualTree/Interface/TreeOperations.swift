import BackupCore
import SystemIO

/// All requests that the kernel can make to the tree, independent of FUSE: `FUSEBridge` translates requests into these calls, and tests call them directly.
/// Calls come from several threads concurrently.
public protocol TreeOperations: AnyObject, Sendable {
    /// Finds a name in a folder and counts one lookup, which `forget` releases.
    func lookUp(_ name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes
    /// How long the kernel may cache that `lookUp` finds nothing with that name, in seconds.
    func absenceTimeoutSeconds(of name: FileName, in parent: InodeNumber) -> Double
    /// Releases `count` lookups; at zero the number may be forgotten.
    func forget(_ inode: InodeNumber, count: UInt64)
    /// What a request for the node may wait for long; `nil` if it does not wait. Never blocks.
    func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait?
    /// Whether access to the node has to wait for an unfinished backup. Never blocks; `TreeObserver.pendingEnded` signals when to ask again.
    /// - Parameter forAttributes: whether the access is only for the node's attributes, or for a name in it.
    func isPending(_ inode: InodeNumber, forAttributes: Bool) -> Bool

    func attributes(of inode: InodeNumber, handle: HandleNumber?) throws(BackupError) -> NodeAttributes
    func setAttributes(
        of inode: InodeNumber, to change: AttributeChange, handle: HandleNumber?
    ) throws(BackupError) -> NodeAttributes
    /// The target of a symbolic link.
    func readLink(_ inode: InodeNumber) throws(BackupError) -> [UInt8]

    /// - Parameters:
    ///   - flags: those of open(2).
    ///   - process: the process that opens it; 0 when the kernel does not report it.
    func openFile(_ inode: InodeNumber, flags: Int32, process: Int32) throws(BackupError) -> OpenedFile
    /// Creates and opens a file; counts one lookup.
    func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile)
    /// - Returns: bytes read: fewer than `buffer.count` only at the end of the file.
    func read(
        _ handle: HandleNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int
    func write(_ handle: HandleNumber, at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError)
    /// copy_file_range(2), within this tree. Immutable content is only referenced.
    /// - Returns: bytes copied: fewer than `count` at the end of the source, and if copying all of it would take long; at most `UInt32.max`.
    func copy(
        from source: HandleNumber, at sourceOffset: UInt64, to handle: HandleNumber, at offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64
    /// A close(2) of one descriptor; its error is what close(2) returns.
    func flush(_ handle: HandleNumber, process: Int32) throws(BackupError)
    /// fsync(2).
    func synchronize(_ handle: HandleNumber) throws(BackupError)
    /// The last descriptor was closed; errors cannot be reported any more.
    func release(_ handle: HandleNumber)

    func openDirectory(_ inode: InodeNumber) throws(BackupError) -> OpenedDirectory
    /// Lists a folder from `offset` (0 at the start), `.` and `..` first. `body` gets each name, its attributes and the offset to continue from. It returns
    /// false when it has no space left; that name is not counted then and comes again.
    /// - Parameter countsLookUps: whether each accepted name counts one lookup (READDIRPLUS does, except for `.` and `..`).
    func readDirectory(
        _ handle: HandleNumber, from offset: UInt64, countsLookUps: Bool,
        _ body: (_ name: FileName, _ attributes: NodeAttributes, _ nextOffset: UInt64) -> Bool
    ) throws(BackupError)
    func releaseDirectory(_ handle: HandleNumber)

    /// In `snapshots/` this makes a backup. It returns when the backup is durable, or after some time with a pending folder. Counts one lookup.
    /// - Parameter isCancelled: whether the requesting program has stopped waiting; the backup then ends. Polled repeatedly.
    func makeDirectory(
        _ name: FileName, in parent: InodeNumber, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes
    func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(BackupError)
    func removeFile(_ name: FileName, in parent: InodeNumber) throws(BackupError)
    /// - Parameter mayReplace: false for `RENAME_NOREPLACE`.
    func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber, mayReplace: Bool
    ) throws(BackupError)

    /// - Throws: `noAttribute` when there is no attribute with that name.
    func extendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError) -> [UInt8]
    func extendedAttributeNames(of inode: InodeNumber) throws(BackupError) -> [String]
    func setExtendedAttribute(_ name: String, of inode: InodeNumber, to value: [UInt8]) throws(BackupError)
    func removeExtendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError)

    /// Space of the disk that holds the store.
    func space() throws(BackupError) -> FileSystemSpace

    /// Sets the observer of changes that make the kernel's caches stale; `nil` for none.
    func setObserver(_ observer: (any TreeObserver)?)
}

extension TreeOperations {
    public func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait? { nil }
    public func isPending(_ inode: InodeNumber, forAttributes: Bool) -> Bool { false }
}
