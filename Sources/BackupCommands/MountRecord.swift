import BackupCore
import Export
import Operations
import SystemIO

/// Where a store is mounted: one mount at a time, since the drop folder and the spool belong to it.
enum MountRecord {
    /// Held for as long as the store is mounted.
    /// - Throws: `locked`, saying where it is mounted.
    static func lock(_ paths: StorePaths) throws(BackupError) -> AdvisoryLock {
        do {
            return try AdvisoryLock(path: paths.mountLock)
        } catch where error.code == .busy {
            throw mounted(paths)
        }
    }

    static func requireUnmounted(_ paths: StorePaths) throws(BackupError) { _ = try lock(paths) }

    private static func mounted(_ paths: StorePaths) -> BackupError {
        let place = mountpoint(paths).map { " on \($0)" } ?? ""
        return BackupError(
            .locked, "the store is mounted already\(place)", path: paths.root,
            remedy: "Use that mount, or unmount it first with: backupfs umount")
    }

    /// Where the store is mounted now; `nil` when it is not.
    static func mountpoint(_ paths: StorePaths) -> String? {
        guard (try? AdvisoryLock(path: paths.mountLock)) == nil else { return nil }
        guard let bytes = try? FileSystem.readFile(paths.mountRecord, limitBytes: 1 << 16) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func write(_ paths: StorePaths, mountpoint: String) throws(BackupError) {
        try FileSystem.writeForReaders(paths.mountRecord, Array(mountpoint.utf8))
    }

    static func remove(_ paths: StorePaths) { try? FileSystem.removeFile(paths.mountRecord) }

    static func document(mountpoint: String, store: String) -> OrderedJSON {
        .members(["message_type": .text("mounted"), "mountpoint": .text(mountpoint), "store": .text(store)])
    }
}
