import BackupCore
import SystemIO

/// Everything the kernel can ask of the tree, without a word of FUSE: `FUSEBridge` translates requests into these calls, and tests
/// call them directly. All calls come from several threads at once.
public protocol TreeOperations: AnyObject, Sendable {
    /// Finds a name in a folder and counts one look-up of it, which `forget` gives back.
    func lookUp(_ name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes
    /// For how long the kernel may believe that `lookUp` finds nothing of that name, in seconds.
    func absenceTimeoutSeconds(of name: FileName, in parent: InodeNumber) -> Double
    /// Gives back `count` look-ups; at none the number may be forgotten.
    func forget(_ inode: InodeNumber, count: UInt64)
    /// What a request for the node may wait long for; `nil` when it does not. Answers at once.
    func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait?
    /// Whether a look into the node has to wait for a backup that is not finished. Answers at once; `TreeObserver.pendingEnded` tells when to ask again.
    /// - Parameter forAttributes: whether only what the node is, or a name in it, is asked for.
    func isPending(_ inode: InodeNumber, forAttributes: Bool) -> Bool

    func attributes(of inode: InodeNumber, handle: HandleNumber?) throws(BackupError) -> NodeAttributes
    func setAttributes(
        of inode: InodeNumber, to change: AttributeChange, handle: HandleNumber?
    ) throws(BackupError) -> NodeAttributes
    /// The target of a symbolic link.
    func readLink(_ inode: InodeNumber) throws(BackupError) -> [UInt8]

    /// - Parameters:
    ///   - flags: those of open(2).
    ///   - process: who opens it; 0 when the kernel does not say.
    func openFile(_ inode: InodeNumber, flags: Int32, process: Int32) throws(BackupError) -> OpenedFile
    /// Makes and opens a file; counts one look-up.
    func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile)
    /// - Returns: bytes read: fewer than `buffer.count` only at the end of the file.
    func read(
        _ handle: HandleNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int
    func write(_ handle: HandleNumber, at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError)
    /// copy_file_range(2), within this tree. What never changes is only referred to.
    /// - Returns: bytes copied: fewer than `count` at the end of the source, and when all of it would take long; at most `UInt32.max`.
    func copy(
        from source: HandleNumber, at sourceOffset: UInt64, to handle: HandleNumber, at offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64
    /// A close(2) of one descriptor; its error is what close(2) returns.
    func flush(_ handle: HandleNumber, process: Int32) throws(BackupError)
    /// fsync(2).
    func synchronize(_ handle: HandleNumber) throws(BackupError)
    /// The last descriptor is gone; errors have nowhere to go.
    func release(_ handle: HandleNumber)

    func openDirectory(_ inode: InodeNumber) throws(BackupError) -> OpenedDirectory
    /// Lists a folder from `offset` (0 at the start), `.` and `..` first. `body` gets each name, its attributes and the offset to go on
    /// from, and returns false when it has no room, in which case that name is not counted and comes again.
    /// - Parameter countsLookUps: whether each name taken counts one look-up (READDIRPLUS does, except for `.` and `..`).
    func readDirectory(
        _ handle: HandleNumber, from offset: UInt64, countsLookUps: Bool,
        _ body: (_ name: FileName, _ attributes: NodeAttributes, _ nextOffset: UInt64) -> Bool
    ) throws(BackupError)
    func releaseDirectory(_ handle: HandleNumber)

    /// In `snapshots/` this backs up, and returns when the backup is durable, or after some time with a folder that is pending. Counts one look-up.
    /// - Parameter isCancelled: whether the program that asked waits no longer; the backup then ends. Asked again and again.
    func makeDirectory(
        _ name: FileName, in parent: InodeNumber, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes
    func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(BackupError)
    func removeFile(_ name: FileName, in parent: InodeNumber) throws(BackupError)
    /// - Parameter mayReplace: false for `RENAME_NOREPLACE`.
    func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber, mayReplace: Bool
    ) throws(BackupError)

    /// - Throws: `noAttribute` when there is none of that name.
    func extendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError) -> [UInt8]
    func extendedAttributeNames(of inode: InodeNumber) throws(BackupError) -> [String]
    func setExtendedAttribute(_ name: String, of inode: InodeNumber, to value: [UInt8]) throws(BackupError)
    func removeExtendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError)

    /// Space of the disk that holds the store.
    func space() throws(BackupError) -> FileSystemSpace

    /// Who is told of what the kernel has kept and should not believe any more; `nil` when nobody is there to be told.
    func setObserver(_ observer: (any TreeObserver)?)
}

extension TreeOperations {
    public func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait? { nil }
    public func isPending(_ inode: InodeNumber, forAttributes: Bool) -> Bool { false }
}
