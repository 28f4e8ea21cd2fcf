import BackupCore

/// A small file that is generated on access: `README.txt`, `status.json`.
final class TextFile: FileNode {
    let inode: InodeNumber
    private let context: TreeContext
    private let name: FileName
    private let time: Timestamp?
    private let makeText: @Sendable () throws(BackupError) -> [UInt8]

    /// - Parameter time: the modification time; the time of mounting if `nil`.
    init(
        _ name: FileName, in parent: InodeNumber, context: TreeContext, time: Timestamp? = nil,
        text: @escaping @Sendable () throws(BackupError) -> [UInt8]
    ) {
        self.name = name
        inode = parent.child(name)
        self.context = context
        self.time = time
        makeText = text
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: UInt64(try makeText().count),
            modificationTime: time ?? context.mountTime)
    }

    var mimeType: String? { MIMEType.of(name) }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        return OpenExtents(
            ExtentTable(literal: try makeText()), repository: context.repository, path: name.description, isImmutable: false)
    }
}
