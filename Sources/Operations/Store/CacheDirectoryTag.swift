import BackupCore
import SystemIO

/// `CACHEDIR.TAG`: tells backup programs and indexers that what lies in a folder can be made again (<https://bford.info/cachedir/>).
/// Only the spool is marked, never the repository.
enum CacheDirectoryTag {
    static let fileName = "CACHEDIR.TAG"

    /// The first line is what programs look for; it may not change by a byte.
    static let text = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This file is a cache directory tag created by backupfs.
        # What lies beside it can be made again: backup programs may leave it out. For information about such tags, see:
        #	https://bford.info/cachedir/

        """

    /// Marks a folder, unless it is marked. Nobody is refused his backups because that cannot be done: on a full disk it is done another time.
    static func mark(_ folder: String) {
        let path = "\(folder)/\(fileName)"
        if (try? FileSystem.exists(path)) == false { try? FileSystem.writeForReaders(path, Array(text.utf8)) }
    }
}
