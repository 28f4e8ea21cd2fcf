import BackupCore

/// An open file: the state that stays the same for one open(2), whatever happens to the tree meanwhile.
protocol OpenFile: AnyObject, Sendable {
    /// See `OpenedFile`.
    var keepsCache: Bool { get }
    var usesDirectIO: Bool { get }
    /// The size of this open file, where it may differ from the node's.
    var size: UInt64? { get }
    /// Its content, if this program created it for a backup: a copy may refer to it instead, and then also counts as this program's own.
    var storedContent: ExtentTable? { get }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int
    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError)
    /// copy_file_range(2) from another open file.
    /// - Returns: bytes copied, 0 at the end of the source.
    func copy(from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64) throws(BackupError) -> UInt64
    func flush(process: Int32) throws(BackupError)
    func synchronize() throws(BackupError)
    func release()
}

extension OpenFile {
    var size: UInt64? { nil }
    var storedContent: ExtentTable? { nil }
    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) { throw .readOnlyHere }
    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 { throw .readOnlyHere }
    func flush(process: Int32) throws(BackupError) {}
    func synchronize() throws(BackupError) {}
    func release() {}
}
