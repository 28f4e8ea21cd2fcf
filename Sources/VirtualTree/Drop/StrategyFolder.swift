import BackupCore

/// `restore/merge/` and similar folders: a file copied in is restored with that strategy.
final class StrategyFolder: DropFolder {
    let inode: InodeNumber
    let context: TreeContext
    let inbox = DropInbox()
    let purpose: DropSubmission.Purpose

    init(strategy: String, inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
        purpose = .strategy(strategy)
    }

    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)] { [] }
}
