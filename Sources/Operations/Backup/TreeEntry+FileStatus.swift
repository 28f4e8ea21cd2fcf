import BackupRepository
import SystemIO

extension TreeEntry {
    /// Whether a file of the app is the very one that this entry was made of, as it was then: same size, times and inode. (A changed mode changes
    /// the change time.) Where the file system keeps no change time, it may be another all the same.
    func isUnchanged(_ status: FileStatus) -> Bool {
        sourceIdentity == SourceIdentity(inode: status.inode, changeTime: status.changeTime) && size == status.size
            && modificationTime == status.modificationTime
    }

    /// Whether a file of the app is certainly the one that this entry was made of.
    func isUnchanged(_ item: LiveMedia.Item) -> Bool { item.keepsChangeTime && isUnchanged(item.status) }
}
