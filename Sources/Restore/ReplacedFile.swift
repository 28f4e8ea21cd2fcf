import BackupCore
import SystemIO

/// A media file that a restore has replaced; it is removed if the safety backup has it.
public struct ReplacedFile {
    /// Below the media folder.
    public let path: [UInt8]
    public let status: FileStatus
    /// When it was last changed, ignoring the restore's move. After a crash it is unknown: then it is the time of the move.
    public let changeTime: Timestamp
    private let name: FileName
    private let folder: FolderHandle

    init(_ name: FileName, in folder: FolderHandle, path: [UInt8], _ status: FileStatus, changeTime: Timestamp) {
        self.name = name
        self.folder = folder
        self.path = path
        self.status = status
        self.changeTime = changeTime
    }

    /// Whether the file system sets a change time at each change. Otherwise the time means nothing.
    public var hasTrueChangeTime: Bool {
        guard let reader = try? folder.reader() else { return false }
        return FileSystem.keepsChangeTime(reader.descriptor)
    }

    /// Reads the whole file.
    /// - Returns: `nil` when it is not a file, or changes during the read.
    public func digest() throws(BackupError) -> SHA256Digest? {
        guard let file = try folder.openFile(name) else { return nil }
        let shared = try SharedFile(file)
        let digest = try shared.sha256()
        return try shared.status() == status ? digest : nil
    }

    /// The target of a symbolic link; `nil` when it is not a link.
    public func linkTarget() throws(BackupError) -> [UInt8]? { try folder.linkTarget(name) }
}
