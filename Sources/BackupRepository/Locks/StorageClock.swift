import BackupCore
import SystemIO

/// The clock of the file system that holds a repository, which may be another host's. It is read from the time of a new file.
enum StorageClock {
    static func now(_ layout: RepositoryLayout) throws(BackupError) -> Timestamp {
        let probe = "\(layout.temporary)/\(RandomToken.make())"
        defer { try? FileSystem.removeFile(probe) }
        return try OwnerOnly.createFile(probe).status().modificationTime
    }
}
