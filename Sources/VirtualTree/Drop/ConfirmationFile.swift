import BackupCore

/// `restore/CONFIRM`. What is written into it does not matter.
final class ConfirmationFile: FileNode {
    let inode: InodeNumber
    /// When it was made.
    private let time: Timestamp
    private let context: TreeContext

    init(_ grant: RestoreConfirmation.Grant, in folder: InodeNumber, context: TreeContext) {
        time = grant.time
        inode = folder.child(RestoreConfirmation.name)
        self.context = context
    }

    private static let textLimitBytes = 1 << 16

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: 0,
            modificationTime: context.confirmation.current?.time ?? time)
    }

    /// Programs set the size and the times of what they make. A time that is set confirms it once more.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        if change.modificationTime != nil, context.confirmation.current != nil { context.confirmation.begin() }
        return try attributes()
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        let path = "restore/\(RestoreConfirmation.name)"
        let tooLong = BackupError(.notPermitted, "nothing is kept in this file", path: path)
        return OpenRequest(path: path, opener: process, limitBytes: Self.textLimitBytes, tooLong: tooLong) { _ in }
    }
}
