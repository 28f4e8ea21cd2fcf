import BackupCore

/// Receives an export piece by piece. All pieces joined are `export.json`; those between `beginCollection` and `endCollection` joined are
/// `data/COLLECTION.json`.
public protocol WireSink: AnyObject {
    /// Bytes outside the collections.
    func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError)
    func beginCollection(_ name: String) throws(BackupError)
    /// Bytes of the current collection, in pieces of any size.
    func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError)
    func endCollection(_ name: String) throws(BackupError)
}

extension WireSink {
    public func beginCollection(_ name: String) throws(BackupError) {}
    public func endCollection(_ name: String) throws(BackupError) {}
}
