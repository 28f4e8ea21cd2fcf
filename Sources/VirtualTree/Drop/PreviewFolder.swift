import BackupCore

/// `restore/preview/`: a file copied in is checked, and `NAME.preview.txt` shows what restoring it would do.
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
                let viewName = Self.viewName(name, suffix)
                let time = file.outcomeTime
                nodes.append((viewName, TextFile(viewName, in: inode, context: context, time: time) { content }))
            }
        }
        return nodes
    }

    /// A name that would be too long is truncated: otherwise it would be listed but could not be opened.
    private static func viewName(_ name: FileName, _ suffix: String) -> FileName {
        let room = FileName.byteCountLimit - suffix.utf8.count
        guard name.bytes.count > room else { return FileName(bytes: name.bytes + Array(suffix.utf8)) }
        // Not in the middle of a character.
        let end = name.bytes[..<room].lastIndex { $0 & 0xC0 != 0x80 } ?? room
        let kept = String(validating: name.bytes[..<room], as: UTF8.self) == nil ? end : room
        return FileName(bytes: Array(name.bytes[..<kept]) + Array(suffix.utf8))
    }
}
