import BackupCore
import SystemIO

/// The copies that a run of a job which was killed has left in a folder of a destination, under their temporary names.
enum UnfinishedCopies {
    /// Their names in a folder.
    /// - Parameter tokens: of the jobs.
    static func names(in folder: DirectoryHandle, of tokens: [String]) throws(BackupError) -> [FileName] {
        try folder.names(where: { name in tokens.contains { CopyNames.isTemporary(name, of: $0) } })
    }

    /// Removes them.
    /// - Throws: when one of them cannot be removed; others may be left then, too.
    static func remove(from folder: DirectoryHandle, of tokens: [String]) throws(BackupError) {
        for name in try names(in: folder, of: tokens) where try folder.statusIfPresent(name)?.kind != .directory {
            try folder.removeFile(name)
        }
    }
}

/// What they take in a destination, and where they are.
struct UnfinishedSpace: Sendable {
    /// Below the destination.
    private(set) var folders: [[FileName]] = []
    private(set) var bytes: UInt64 = 0
    private(set) var fileCount: UInt64 = 0

    /// Adds those of a folder. What cannot be read is not counted: the run says what is wrong with it.
    /// - Parameters:
    ///   - path: of the folder, below the destination.
    ///   - device: that of the destination: other file systems can be mounted in it.
    mutating func add(_ folder: DirectoryHandle, at path: [FileName], of token: String, device: UInt64) {
        guard let names = try? UnfinishedCopies.names(in: folder, of: [token]), !names.isEmpty else { return }
        folders.append(path)
        for name in names {
            // With another name, its space stays taken.
            guard let status = try? folder.statusIfPresent(name), status.kind != .directory, status.linkCount == 1,
                status.device == device
            else { continue }
            fileCount += 1
            bytes = bytes.addingSaturating(status.allocatedBytes)
        }
    }
}
