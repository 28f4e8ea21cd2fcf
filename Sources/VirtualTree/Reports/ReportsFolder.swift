import BackupCore

/// `reports/`: what the last operations reported, each as a page, as text and as JSON.
final class ReportsFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    var looksAtTheStore: Bool { true }
    var hasKnownAttributes: Bool { true }
    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard try context.services.reportNames().contains(name) else { throw .notFound(name) }
        return ReportFile(name, in: inode, context: context)
    }

    func listing() throws(BackupError) -> FolderListing {
        FolderListing(try context.services.reportNames().sorted().map { ($0, ReportFile($0, in: inode, context: context)) })
    }
}

/// A file in `reports/`.
final class ReportFile: FileNode {
    let inode: InodeNumber
    private let name: FileName
    private let context: TreeContext

    init(_ name: FileName, in folder: InodeNumber, context: TreeContext) {
        self.name = name
        inode = folder.child(name)
        self.context = context
    }

    var looksAtTheStore: Bool { true }
    var mimeType: String? { MIMEType.of(name) }

    func attributes() throws(BackupError) -> NodeAttributes {
        let report = try context.services.report(name)
        return NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: UInt64(report.content.count),
            modificationTime: report.modificationTime)
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        return OpenExtents(
            ExtentTable(literal: try context.services.report(name).content), repository: context.repository,
            path: "reports/\(name)", isImmutable: false)
    }
}
