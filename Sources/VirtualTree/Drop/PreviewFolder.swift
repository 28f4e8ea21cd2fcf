import BackupCore

/// `restore/preview/`: a file copied in is checked, and `NAME.preview.txt` tells what restoring it would do.
final class PreviewFolder: DropFolder {
    let inode: InodeNumber
    let context: TreeContext
    let inbox = DropInbox()
    let purpose = DropSubmission.Purpose.preview

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)] {
        var nodes: [(name: FileName, node: any Node)] = []
        for (name, file) in inbox.sortedFiles {
            guard let outcome = file.outcome else { continue }
            for (suffix, content) in [(".preview.json", outcome.json), (".preview.txt", outcome.text)] where !content.isEmpty {
                let viewName = FileName(bytes: name.bytes + Array(suffix.utf8))
                let time = file.outcomeTime
                nodes.append((viewName, TextFile(viewName, in: inode, context: context, time: time) { content }))
            }
        }
        return nodes
    }
}
