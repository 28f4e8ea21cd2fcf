import BackupCore

/// A file of the media folder, as far as known without reading it.
public struct MediaFileFacts: Sendable {
    /// Below the folder.
    public let path: [UInt8]
    /// In bytes.
    public let size: UInt64
    public let modificationTime: Timestamp
    /// `nil` when the file has not been read since it was written.
    public let checksums: Checksums?

    public init(path: [UInt8], size: UInt64, modificationTime: Timestamp, checksums: Checksums?) {
        self.path = path
        self.size = size
        self.modificationTime = modificationTime
        self.checksums = checksums
    }

    public var name: ArraySlice<UInt8> {
        path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path[...]
    }
}
