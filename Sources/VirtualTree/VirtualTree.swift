import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO

/// The tree: live data, snapshots, exports, safety backups and the drop folder, as files and folders. It does not depend on FUSE.
public final class VirtualTree: TreeOperations {
    private let context: TreeContext
    private let root: RootFolder
    private let nodes: NodeTable
    private let files = HandleTable<any OpenFile>()
    private let folders = HandleTable<OpenFolder>()
    private let firstOpenings = FirstOpenings()
    /// Of the store's disk, which may stall, usually together with the repository's.
    private let diskSpace: StorageQuery<Result<FileSystemSpace, BackupError>>
    private let lastSpace = Mutex<FileSystemSpace?>(nil)

    /// - Parameter isSharedWithOthers: mounted with `allow_other`: files show their own modes, not only the owner's bits.
    public convenience init(services: any TreeServices, repository: Repository, isSharedWithOthers: Bool) {
        self.init(TreeContext(services: services, repository: repository, isSharedWithOthers: isSharedWithOthers))
    }

    init(_ context: TreeContext) {
        self.context = context
        root = RootFolder(context: context)
        nodes = NodeTable(root: root)
        diskSpace = StorageQuery(context.repository.patience) { [services = context.services] in
            Result { () throws(BackupError) in try FileSystem.space(at: services.spoolPath) }
        }
        // Queried in advance: they may no longer respond at the first request.
        context.noteNewest()
        try? SystemThread { [self] in _ = try? space() }.detach()
    }

    /// Open files and folders, and nodes that the kernel knows; all zero when everything was released.
    public var openCounts: (files: Int, folders: Int, nodes: Int) { (files.count, folders.count, nodes.count) }

    private func folder(_ inode: InodeNumber) throws(BackupError) -> any FolderNode {
        guard let folder = try nodes.node(inode) as? any FolderNode else {
            throw BackupError(.notADirectory, "this is not a folder")
        }
        return folder
    }

    // MARK: Changes by others

    public func setObserver(_ observer: (any TreeObserver)?) { context.announcer.setObserver(observer) }

    /// Checks whether snapshots were added, removed or renamed by another process, and notifies the observer. The tree checks by
    /// itself when it is accessed; this is for the code that watches the repository, so that the kernel need not ask.
    public func lookForChanges() { _ = try? context.refreshedSnapshots() }

    /// - Parameter isNotified: whether `lookForChanges` is called for every change of the repository: the kernel then need not
    ///   ask each time for what another process may change. False at first.
    public func setNotifiedOfChanges(_ isNotified: Bool) { context.setNotifiedOfChanges(isNotified) }

    // MARK: Names

    public func lookUp(_ name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes {
        guard name.bytes.count <= FileName.byteCountLimit else {
            throw BackupError(.nameTooLong, "the name is longer than \(FileName.byteCountLimit) bytes")
        }
        let node = try folder(parent).child(named: name)
        let attributes = try node.attributesWhenFound()
        nodes.retain(node)
        return attributes
    }

    public func absenceTimeoutSeconds(of name: FileName, in parent: InodeNumber) -> Double {
        (try? folder(parent))?.absenceTimeoutSeconds(of: name) ?? 0
    }

    public func forget(_ inode: InodeNumber, count: UInt64) { nodes.forget(inode, count: count) }

    public func wait(of inode: InodeNumber, for aim: RequestAim) -> RequestWait? {
        guard let node = try? nodes.node(inode) else { return nil }
        if let place = (node as? any CopySetNode)?.place { return wait(ofCopySet: place, node, for: aim) }
        switch aim {
        case .closing where node is JobControl, .writing where node is JobControl: return .job
        case .closing where node is ControlFile, .change where node is ControlFile: return .job
        case _ where node is ControlFile: return nil
        case .closing: return node is CopiedPhoto ? .star : nil
        case .making: return nil
        // The kernel keeps programs from looking into the folder meanwhile: it does not wait behind copies that are closed.
        case .change where node is StarredFolder || node is KeptPhoto: return .change
        default: break
        }
        if node.waitsForNetwork, aim != .change, aim != .attributes || !node.hasKnownAttributes { return .network }
        switch aim {
        case .change: return node.looksAtTheRepository || node is SnapshotsFolder ? .change : nil
        case .writing: return node is any DropFolder || node is DroppedFile || node.looksAtTheStore ? .drop : nil
        case .extendedAttribute where node.computesChecksums: return .checksums
        case .content where node.computesContent, .attributeNames where node.computesContent: return .checksums
        case .attributes where node.hasKnownAttributes: return nil
        case .content where node is any DropFolder, .attributeNames where node is any DropFolder: return .store
        // They are in the record, or in the parent folder.
        case .extendedAttribute where node.looksAtTheRepository && node is any FolderNode: return nil
        default: break
        }
        if node.looksAtTheStore { return .store }
        if node.looksAtTheApp { return .app }
        return node.looksAtTheRepository ? .repository : nil
    }

    /// What has come of a file so far is on the store's disk.
    private func wait(ofCopySet place: CopySetNodePlace, _ node: any Node, for aim: RequestAim) -> RequestWait? {
        let name = place.set.place.name
        return switch aim {
        // `CopySetRoot` has them.
        case .attributes where place.path.isEmpty, .attributeNames where place.path.isEmpty: nil
        case .change, .making, .closing: .copySet(name)
        case .writing: node is CopySetFile && place.copy?.isBeingWritten == true ? .drop : .copySet(name)
        case .attributes, .attributeNames, .content, .extendedAttribute: .copySetView(name)
        }
    }

    /// Releases views that take space and have been idle for this long: the newest rendering of the app's data, and rendered
    /// exports of snapshots.
    public func letGoOfIdleViews(afterSeconds seconds: Double) {
        context.live.letGo(idleSeconds: seconds)
        context.services.letGoOfRenderedFiles(idleSeconds: seconds)
    }

    public func readLink(_ inode: InodeNumber) throws(BackupError) -> [UInt8] {
        guard let link = try nodes.node(inode) as? any LinkNode else {
            throw BackupError(.invalidArgument, "this is not a symbolic link")
        }
        return try link.target()
    }

    public func isPending(_ inode: InodeNumber, forAttributes: Bool) -> Bool {
        guard context.pending.isAnyShown, let node = try? nodes.node(inode) else { return false }
        if let folder = node as? PendingFolder { return folder.isPending && !forAttributes }
        return (node as? PendingFile)?.isPending ?? (node as? PendingSubfolder)?.isPending ?? false
    }

    /// Whether a backup started by `mkdir` is running.
    public var isMakingBackup: Bool { context.pending.isAnyRunning }

    /// Returns when no backup started by `mkdir` is running.
    public func waitForBackups() { context.pending.waitUntilNone() }

    public func makeDirectory(
        _ name: FileName, in parent: InodeNumber, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes {
        try retained(try folder(parent).makeDirectory(name, unless: isCancelled))
    }

    public func makeDirectory(
        _ name: FileName, in parent: InodeNumber, permissions: UInt16, unless isCancelled: () -> Bool
    ) throws(BackupError) -> NodeAttributes {
        try retained(try folder(parent).makeDirectory(name, permissions: permissions, unless: isCancelled))
    }

    private func retained(_ node: any Node) throws(BackupError) -> NodeAttributes {
        let attributes = try node.attributes()
        nodes.retain(node)
        return attributes
    }

    public func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(BackupError) {
        try folder(parent).removeDirectory(name)
    }

    public func removeFile(_ name: FileName, in parent: InodeNumber) throws(BackupError) {
        try folder(parent).removeFile(name)
    }

    public func makeSymbolicLink(
        _ name: FileName, to target: [UInt8], in parent: InodeNumber
    ) throws(BackupError) -> NodeAttributes {
        let node = try folder(parent).makeSymbolicLink(name, to: target)
        let attributes = try node.attributes()
        nodes.retain(node)
        return attributes
    }

    public func link(_ inode: InodeNumber, as name: FileName, in parent: InodeNumber) throws(BackupError) -> NodeAttributes {
        let node = try nodes.node(inode)
        try folder(parent).link(node, as: name)
        let attributes = try node.attributes()
        nodes.retain(node)
        return attributes
    }

    public func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber, mayReplace: Bool
    ) throws(BackupError) {
        // The kernel answers this by itself, but not where the node of a name has changed between its two look-ups.
        if mayReplace, parent == newParent, name == newName { return }
        try folder(parent).rename(name, to: newName, in: folder(newParent), mayReplace: mayReplace)
    }

    // MARK: Attributes

    public func attributes(of inode: InodeNumber, handle: HandleNumber?) throws(BackupError) -> NodeAttributes {
        var attributes = try nodes.node(inode).attributes()
        if let handle, let open = try? files.get(handle), let size = open.size { attributes.size = size }
        return attributes
    }

    public func setAttributes(
        of inode: InodeNumber, to change: AttributeChange, handle: HandleNumber?
    ) throws(BackupError) -> NodeAttributes {
        try nodes.node(inode).setAttributes(change)
    }

    public func space() throws(BackupError) -> FileSystemSpace {
        let answer =
            diskSpace.answer()
            ?? .failure(
                BackupError(
                    .inputOutput, "the storage that the store is on does not answer",
                    remedy: "Check whether its disk or its server can be reached."))
        switch answer {
        case .success(let space):
            lastSpace.withLock { $0 = space }
            return space
        case .failure(let error):
            // Programs query the space before they access anything, and the mount shows more than that disk.
            guard let last = lastSpace.withLock({ $0 }) else { throw error }
            return last
        }
    }

    // MARK: Files

    public func openFile(_ inode: InodeNumber, flags: Int32, process: Int32) throws(BackupError) -> OpenedFile {
        guard let file = try nodes.node(inode) as? any FileNode else {
            throw BackupError(.isADirectory, "this is not a file")
        }
        return opened(try file.open(flags: flags, process: process))
    }

    public func openFile(
        _ inode: InodeNumber, flags: Int32, process: Int32, givingContent give: (UnsafeRawBufferPointer) -> Void
    ) throws(BackupError) -> OpenedFile {
        guard let file = try nodes.node(inode) as? any FileNode, file.givesContent,
            let size = (try? file.attributes())?.size, FirstOpenings.isSmall(size)
        else { return try openFile(inode, flags: flags, process: process) }
        let open = try file.open(flags: flags, process: process)
        // Noted in any case: once the file is open, a program may read it at any time.
        if let opening = firstOpenings.run(inode, { nodes.noteOpening(inode) }), !flags.asksForDirectReads,
            let content = FirstOpenings.content(of: open, size: size)
        {
            firstOpenings.run(inode) {
                if nodes.isOnlyOpening(opening, of: inode) { content.withUnsafeBytes(give) }
            }
        }
        return opened(open)
    }

    public func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile) {
        try opened(try folder(parent).createFile(name), flags: flags, process: process)
    }

    public func createFile(
        _ name: FileName, in parent: InodeNumber, flags: Int32, process: Int32, permissions: UInt16
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile) {
        try opened(try folder(parent).createFile(name, permissions: permissions), flags: flags, process: process)
    }

    private func opened(
        _ file: any FileNode, flags: Int32, process: Int32
    ) throws(BackupError) -> (attributes: NodeAttributes, file: OpenedFile) {
        let open = try file.open(flags: flags, process: process)
        let attributes = try file.attributes()
        nodes.retain(file)
        return (attributes, opened(open))
    }

    private func opened(_ open: any OpenFile) -> OpenedFile {
        OpenedFile(handle: files.insert(open), keepsCache: open.keepsCache, usesDirectIO: open.usesDirectIO)
    }

    public func read(
        _ handle: HandleNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int {
        try files.get(handle).read(at: offset, into: buffer)
    }

    public func noteWriter(_ process: Int32, of handle: HandleNumber) { (try? files.get(handle))?.noteWriter(process) }

    public func write(_ handle: HandleNumber, at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try files.get(handle).write(at: offset, bytes)
    }

    public func copy(
        from source: HandleNumber, at sourceOffset: UInt64, to handle: HandleNumber, at offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        // The result has 32 bits.
        let limit = UInt64(UInt32.max) & ~4095
        return try files.get(handle).copy(
            from: files.get(source), at: sourceOffset, to: offset, count: min(count, limit))
    }

    public func flush(_ handle: HandleNumber, process: Int32) throws(BackupError) {
        try files.get(handle).flush(process: process)
    }

    public func synchronize(_ handle: HandleNumber) throws(BackupError) { try files.get(handle).synchronize() }

    public func release(_ handle: HandleNumber) { files.remove(handle)?.release() }

    // MARK: Folders

    public func openDirectory(_ inode: InodeNumber) throws(BackupError) -> OpenedDirectory {
        let folder = try folder(inode)
        try folder.requireOpenable()
        return OpenedDirectory(handle: folders.insert(OpenFolder(folder)), keepsCache: folder.isImmutable)
    }

    public func readDirectory(
        _ handle: HandleNumber, from offset: UInt64, countsLookUps: Bool,
        _ body: (_ name: FileName, _ attributes: NodeAttributes, _ nextOffset: UInt64) -> Bool
    ) throws(BackupError) {
        let folder = try folders.get(handle)
        let listing = try folder.listing(from: offset)
        if offset < 2 {
            let own = try folder.node.attributes()
            if offset < 1, !body(".", own, 1) { return }
            if !body("..", own, 2) { return }
        }
        var index = Int(max(offset, 2) - 2)
        while index < listing.count {
            let child = try listing.child(index)
            let node = countsLookUps && child.attributes.isRead ? try listing.node(index) : nil
            if let node { nodes.retain(node) }
            guard body(child.name, child.attributes, UInt64(index) + 3) else {
                if let node { nodes.forget(node.inode, count: 1) }
                return
            }
            index += 1
        }
    }

    public func releaseDirectory(_ handle: HandleNumber) { _ = folders.remove(handle) }

    // MARK: Extended attributes

    public func extendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError) -> [UInt8] {
        guard name.hasPrefix("user.") else { throw .noAttribute(name) }
        return try ExtendedAttributes.value(of: name, node: nodes.node(inode))
    }

    public func extendedAttributeNames(of inode: InodeNumber) throws(BackupError) -> [String] {
        try ExtendedAttributes.names(of: nodes.node(inode))
    }

    public func setExtendedAttribute(_ name: String, of inode: InodeNumber, to value: [UInt8]) throws(BackupError) {
        guard name.hasPrefix("user.") else {
            throw BackupError(.notSupported, "only attributes that start with user. can be set", path: name)
        }
        try nodes.node(inode).setExtendedAttribute(name, to: value)
    }

    public func removeExtendedAttribute(_ name: String, of inode: InodeNumber) throws(BackupError) {
        try nodes.node(inode).removeExtendedAttribute(name)
    }
}
