import BackupCore

/// `restore/`: a file copied in is restored with the app's default strategy.
final class RestoreFolder: DropFolder {
    let inode: InodeNumber
    let context: TreeContext
    let inbox = DropInbox()
    let purpose = DropSubmission.Purpose.restore
    private let preview: PreviewFolder
    private let strategies: [(name: FileName, node: any Node)]

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
        preview = PreviewFolder(inode: inode.child("preview"), context: context)
        strategies = context.services.strategies.map { name in
            (FileName(name), StrategyFolder(strategy: name, inode: inode.child(FileName(name)), context: context))
        }
    }

    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)] {
        var nodes: [(name: FileName, node: any Node)] = [("preview", preview)] + strategies
        for report in context.services.restoreReports() {
            let name = FileName(report.name)
            let file = TextFile(name, in: inode, context: context, time: report.modificationTime) { report.content }
            nodes.append((name, file))
        }
        return nodes
    }
}
