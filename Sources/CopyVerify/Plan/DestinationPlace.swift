import BackupCore
import SystemIO

/// A destination, and the file system that holds it.
public struct DestinationPlace: Sendable, Equatable {
    /// Absolute, as it was named.
    public let path: String
    /// Where the file system of the destination is mounted.
    public let mountPoint: String
    /// As in the table of mounts: `ext4`, `vfat`.
    public let fileSystemType: String
    /// As in `st_dev`, when the job was made: of the folder that holds the destination, if the job makes that.
    public let device: UInt64
    /// Whether the job makes the folder.
    public let isMade: Bool
    /// The folders that are made, if any: the last ones of the path.
    var madeFolderCount = 1

    /// - Parameter madeFolderLimit: how many folders of the path may be missing.
    /// - Throws: `notFound` when more are missing; `notADirectory`.
    static func at(_ path: String, mounts: MountTable, madeFolderLimit: Int = 1) throws(BackupError) -> DestinationPlace {
        let status = try FileSystem.look(path)
        if let status, status.kind != .directory {
            throw BackupError(.notADirectory, "the destination is not a folder", path: path, remedy: "Name a folder.")
        }
        var existing = path
        var missingCount = 0
        while missingCount < madeFolderLimit, try FileSystem.look(existing) == nil {
            existing = FileSystem.parentPath(existing)
            missingCount += 1
        }
        guard let folder = try FileSystem.look(existing) else {
            throw BackupError(
                .notFound, "neither the destination nor the folder that holds it exists", path: path,
                remedy: "Make the folder, or mount the disk.")
        }
        guard folder.kind == .directory else {
            throw BackupError(.notADirectory, "a file is in the way of a folder", path: existing)
        }
        let mount = mounts.entry(holding: try FileSystem.realPath(existing))
        return DestinationPlace(
            path: path, mountPoint: mount?.path ?? "/", fileSystemType: mount?.fileSystemType ?? "unknown",
            device: folder.device, isMade: status == nil, madeFolderCount: max(1, missingCount))
    }

    /// Where it is on the disk: the folder, or the one that the job makes it in.
    var existingPath: String {
        isMade ? (0..<madeFolderCount).reduce(path) { path, _ in FileSystem.parentPath(path) } : path
    }

    /// The path of the folders that the job makes, in the one that exists; empty for a folder that is there.
    var madePath: String {
        let existing = existingPath
        return isMade ? String(path.dropFirst(existing == "/" ? 1 : existing.count + 1)) : ""
    }

    /// Whether the folder that holds it is a bag already.
    /// - Throws: when that cannot be determined.
    var isInBag: Bool {
        get throws(BackupError) {
            try FileSystem.exists("\(FileSystem.parentPath(path))/\(CopyOptions.bagDeclaration)")
        }
    }

    /// Whether a copy whose name is taken may get another one: not in a bag, whose list exists.
    /// - Throws: when that cannot be determined.
    func mayRename(_ options: CopyOptions) throws(BackupError) -> Bool {
        guard options.conflicts == .rename else { return false }
        guard options.manifests.contains(.bagit) else { return true }
        return try !isInBag
    }

    /// The bag that has the destination in its payload, if there is one.
    /// - Parameter makesBag: whether the folder that holds the destination is a bag of the job itself: only others count.
    /// - Throws: when that cannot be determined.
    func bag(around makesBag: Bool) throws(BackupError) -> String? {
        let existing = try FileSystem.realPath(existingPath)
        var folder = madePath.isEmpty ? existing : "\(existing == "/" ? "" : existing)/\(madePath)"
        if makesBag { folder = FileSystem.parentPath(folder) }
        while folder != "/" {
            let parent = FileSystem.parentPath(folder)
            let start = parent == "/" ? "" : parent
            if try FileSystem.exists("\(start)/\(CopyOptions.bagDeclaration)"), try Self.isPayload(folder, of: start) {
                return parent
            }
            folder = parent
        }
        return nil
    }

    /// Some file systems have the folder under other spellings of the name, too.
    private static func isPayload(_ folder: String, of bag: String) throws(BackupError) -> Bool {
        if FileSystem.lastComponent(folder) == CopyOptions.payload { return true }
        guard let identity = try FileSystem.identityIfPresent(folder) else { return false }
        return try FileSystem.identityIfPresent("\(bag)/\(CopyOptions.payload)") == identity
    }

    /// Whether the file system that is there now is the one that the job began with. A device gets another number when it is
    /// plugged in again, but an empty mountpoint belongs to another file system.
    func isSameFileSystem(as other: DestinationPlace) -> Bool {
        mountPoint == other.mountPoint && fileSystemType == other.fileSystemType
    }
}
