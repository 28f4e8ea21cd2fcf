import BackupCore
import SystemIO

/// `jobs/`: a folder for each copy job of the store, with the files of its record.
final class JobsFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    var looksAtTheStore: Bool { true }
    var hasKnownAttributes: Bool { true }
    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    private func folder(_ name: FileName) -> JobFilesFolder {
        JobFilesFolder([name], in: context.services.jobsPath, inode: inode.child(name), context: context)
    }

    /// - Returns: `nil` before the first job.
    private func jobs() throws(BackupError) -> DirectoryHandle? {
        guard try FileSystem.exists(context.services.jobsPath) else { return nil }
        return try DirectoryHandle(path: context.services.jobsPath, followsLink: false)
    }

    /// A folder without a record is no job, or not yet one.
    private static func isJob(_ name: FileName, in jobs: DirectoryHandle) throws(BackupError) -> Bool {
        guard name.bytes.first != UInt8(ascii: "."), let job = try jobs.openFolder(name) else { return false }
        return try job.statusIfPresent("job.json")?.kind == .regular
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let jobs = try jobs(), try Self.isJob(name, in: jobs) else { throw .notFound(name) }
        return folder(name)
    }

    func listing() throws(BackupError) -> FolderListing {
        guard let jobs = try jobs() else { return FolderListing([]) }
        var names: [FileName] = []
        for name in try jobs.folderNames() where try Self.isJob(name, in: jobs) { names.append(name) }
        return FolderListing(names.sorted().map { ($0, folder($0)) })
    }
}

/// A folder in `jobs/`: the files of the store, as they are now. Only `control` can be written.
final class JobFilesFolder: FolderNode {
    let inode: InodeNumber
    private let path: [FileName]
    private let jobsPath: String
    private let context: TreeContext

    /// - Parameters:
    ///   - path: below the folder of all jobs.
    ///   - jobsPath: that folder.
    init(_ path: [FileName], in jobsPath: String, inode: InodeNumber, context: TreeContext) {
        self.path = path
        self.jobsPath = jobsPath
        self.inode = inode
        self.context = context
    }

    var looksAtTheStore: Bool { true }

    private func handle() throws(BackupError) -> DirectoryHandle {
        try DirectoryHandle(path: jobsPath, followsLink: false).openDirectory(at: path[...])
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        context.folderAttributes(inode, time: try handle().descriptor.status().modificationTime)
    }

    /// Of files with what the next run has to know.
    private static let internalPrefixes = ["folders-", "ascmhl-", "history-"]

    /// What only this program needs, and drafts of files that are not complete.
    private func isHidden(_ name: FileName) -> Bool {
        name == "lock" || name.bytes.first == UInt8(ascii: ".") || name.description.hasSuffix(".new")
            || path.count == 1 && Self.internalPrefixes.contains(where: name.description.hasPrefix)
    }

    private func node(_ name: FileName, _ kind: FileStatus.Kind?) -> (any Node)? {
        let place = JobFilePlace(path: path + [name], jobsPath: jobsPath, inode: inode.child(name), context: context)
        return switch kind {
        case .directory: JobFilesFolder(place.path, in: jobsPath, inode: place.inode, context: context)
        case .regular where path.count == 1 && name == "control": JobControl(place, of: path[0])
        case .regular: JobFile(place)
        default: nil
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard !isHidden(name), let node = node(name, try handle().statusIfPresent(name)?.kind) else { throw .notFound(name) }
        return node
    }

    func listing() throws(BackupError) -> FolderListing {
        let handle = try handle()
        var nodes: [(name: FileName, node: any Node)] = []
        for name in try handle.names().sorted() where !isHidden(name) {
            if let node = node(name, try handle.statusIfPresent(name)?.kind) { nodes.append((name, node)) }
        }
        return FolderListing(nodes)
    }
}

/// Where a file of a job's record is.
struct JobFilePlace: Sendable {
    /// Below the folder of all jobs.
    let path: [FileName]
    let jobsPath: String
    let inode: InodeNumber
    let context: TreeContext

    /// Links are not followed.
    func openFile() throws(BackupError) -> any OpenFile { OpenSharedFile(try SharedFile(folder().openFile(name()))) }

    func attributes() throws(BackupError) -> NodeAttributes {
        let status = try folder().status(name())
        return NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: status.size,
            modificationTime: status.modificationTime)
    }

    private func folder() throws(BackupError) -> DirectoryHandle {
        try DirectoryHandle(path: jobsPath, followsLink: false).openDirectory(at: path.dropLast())
    }

    private func name() throws(BackupError) -> FileName {
        guard let name = path.last else { throw .notFound("jobs") }
        return name
    }
}

/// A file of a job's record.
final class JobFile: FileNode {
    private let place: JobFilePlace

    init(_ place: JobFilePlace) { self.place = place }

    var inode: InodeNumber { place.inode }
    var looksAtTheStore: Bool { true }
    var mimeType: String? { place.path.last.map(MIMEType.of) }
    func attributes() throws(BackupError) -> NodeAttributes { try place.attributes() }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        return try place.openFile()
    }
}
