/// Bytes outside the repository: a spool file, a media file of the live app.
public protocol ByteSource: AnyObject, Sendable {
    /// Reads up to `buffer.count` bytes at `offset`; 0 only at the end.
    /// - Throws: `BackupError` with `inputOutput` when the file has changed or disappeared.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int
}
