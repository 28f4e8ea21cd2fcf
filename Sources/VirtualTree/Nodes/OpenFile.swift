import BackupCore

/// An open file: what stays the same for one open(2), whatever happens to the tree meanwhile.
protocol OpenFile: AnyObject, Sendable {
    /// See `OpenedFile`.
    var keepsCache: Bool { get }
    var usesDirectIO: Bool { get }
    /// The size this open file has, where it may differ from the node's.
    var size: UInt64? { get }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int
    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError)
    func flush(process: Int32) throws(BackupError)
    func synchronize() throws(BackupError)
    func release()
}

extension OpenFile {
    var size: UInt64? { nil }
    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) { throw .readOnlyHere }
    func flush(process: Int32) throws(BackupError) {}
    func synchronize() throws(BackupError) {}
    func release() {}
}
