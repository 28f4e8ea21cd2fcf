import BackupCore
import SystemIO

/// `CACHEDIR.TAG`: marks a folder for backup programs and indexers as reproducible (<https://bford.info/cachedir/>). Only the spool is marked, never the
/// repository.
enum CacheDirectoryTag {
    static let fileName = "CACHEDIR.TAG"

    /// Programs look for the first line; it must not change by a byte.
    static let text = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This file is a cache directory tag created by backupfs.
        # What lies beside it can be made again: backup programs may leave it out. For information about such tags, see:
        #	https://bford.info/cachedir/

        """

    /// Marks a folder, unless it is marked. A failure must not prevent a backup: on a full disk, a later call does it.
    static func mark(_ folder: String) {
        let path = "\(folder)/\(fileName)"
        if (try? FileSystem.exists(path)) == false { try? FileSystem.writeForReaders(path, Array(text.utf8)) }
    }
}
