import BackupCore

/// A file of the media folder, as far as it is known without a look into it.
public struct MediaFileFacts: Sendable {
    /// Below the folder.
    public let path: [UInt8]
    /// In bytes.
    public let size: UInt64
    public let modificationTime: Timestamp
    /// `nil` when nobody has read the file since it was written.
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
