import BackupRepository
import SystemIO

extension TreeEntry {
    /// Whether a file of the app is the one that this entry was made from, unchanged: same size, times and inode. (A mode change updates the change time.)
    /// Where the file system keeps no change times, it may still differ.
    func isUnchanged(_ status: FileStatus) -> Bool {
        sourceIdentity == SourceIdentity(inode: status.inode, changeTime: status.changeTime) && size == status.size
            && modificationTime == status.modificationTime
    }

    /// Whether a file of the app is certainly the one that this entry was made from.
    func isUnchanged(_ item: LiveMedia.Item) -> Bool { item.keepsChangeTime && isUnchanged(item.status) }
}
