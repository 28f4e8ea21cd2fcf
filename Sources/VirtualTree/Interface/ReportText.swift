import BackupCore

/// One of the files in `restore/` that report the result of the last restore.
public struct ReportText: Sendable {
    public let name: String
    public let content: [UInt8]
    public let modificationTime: Timestamp

    public init(name: String, content: [UInt8], modificationTime: Timestamp) {
        self.name = name
        self.content = content
        self.modificationTime = modificationTime
    }
}
