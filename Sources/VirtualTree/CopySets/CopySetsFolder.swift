import BackupCore
import CopyVerify
import Glibc
import SystemIO

/// `copy/`: a folder for each set of destinations.
final class CopySetsFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext
    private let copies = DroppedCopies()

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    private func folder(_ set: CopySet) -> CopySetFolder {
        CopySetFolder(
            CopySetNodePlace(
                set: set, path: [], inode: inode.child(FileName(set.place.name)), copies: copies, context: context))
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let text = String(validating: name.bytes, as: UTF8.self), let set = try context.services.copySet(named: text) else {
            throw .notFound(name)
        }
        return folder(set)
    }

    func listing() throws(BackupError) -> FolderListing {
        var nodes: [(name: FileName, node: any Node)] = []
        for name in context.services.copySetNames.sorted() {
            if let set = try context.services.copySet(named: name) { nodes.append((FileName(name), folder(set))) }
        }
        return FolderListing(found: nodes)
    }
}

/// Where something is in a set.
struct CopySetNodePlace: Sendable {
    let set: CopySet
    /// Below each destination.
    let path: [FileName]
    let inode: InodeNumber
    /// All that are copied into the mount at this moment.
    let copies: DroppedCopies
    let context: TreeContext

    func child(_ name: FileName) -> CopySetNodePlace {
        CopySetNodePlace(set: set, path: path + [name], inode: inode.child(name), copies: copies, context: context)
    }

    /// The file while a program copies it.
    var copy: DroppedCopy? { copies.copy(at: path, in: set) }

    func name() throws(BackupError) -> FileName {
        guard let name = path.last else { throw BackupError(.isADirectory, "this is not a file") }
        return name
    }

    /// The folder that has it, in the destination that is shown.
    func folder() throws(BackupError) -> DirectoryHandle { try set.view().openDirectory(at: path.dropLast()) }

    /// The folder itself.
    func handle() throws(BackupError) -> DirectoryHandle { try set.view().openDirectory(at: path[...]) }

    func attributes(_ kind: FileKind, _ status: FileStatus, permissions: UInt16? = nil) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: kind, permissions: permissions ?? UInt16(truncatingIfNeeded: status.mode & 0o7777),
            size: kind == .directory ? 0 : status.size, modificationTime: status.modificationTime)
    }

    func set(_ change: AttributeChange) throws(BackupError) {
        try set.setAttributes(
            path, permissions: change.permissions.map { mode_t($0) }, modificationTime: change.modificationTime)
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        let attribute = ExtendedAttribute(name: Array(name.utf8), value: value)
        if let draft = copy?.openDraft { return try draft.setExtendedAttribute(attribute) }
        try set.setExtendedAttribute(attribute, of: path)
    }
}

/// A node of a set: an access may wait for the disks of its destinations.
protocol CopySetNode: Node {
    var place: CopySetNodePlace { get }
}

extension CopySetNode {
    var inode: InodeNumber { place.inode }
}

/// A folder of a set, as it is in the first destination that can be read. What is made in it is made in all destinations.
final class CopySetFolder: FolderNode, CopySetNode {
    let place: CopySetNodePlace

    init(_ place: CopySetNodePlace) { self.place = place }

    func attributes() throws(BackupError) -> NodeAttributes {
        guard place.path.isEmpty else { return place.attributes(.directory, try place.handle().descriptor.status()) }
        // The set is there without its disks; what is in it is not.
        return place.set.root.look().map { place.attributes(.directory, $0.status) } ?? attributesWithoutDisks
    }

    /// What the kernel asks next waits for the disks of this set only; to find it must not.
    func attributesWhenFound() throws(BackupError) -> NodeAttributes {
        place.path.isEmpty ? attributesWithoutDisks : try attributes()
    }

    private var attributesWithoutDisks: NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .directory, permissions: place.context.folderPermissions, size: 0,
            modificationTime: place.context.mountTime)
    }

    private static func node(_ place: CopySetNodePlace, _ kind: FileStatus.Kind) throws(BackupError) -> (any Node)? {
        switch kind {
        case .directory: CopySetFolder(place)
        case .regular: CopySetFile(place)
        case .symbolicLink: try place.folder().readLinkIfPresent(place.name()).map { CopySetLink(place, to: $0) }
        case .other: nil
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        let child = place.child(name)
        if child.copy != nil { return CopySetFile(child) }
        guard !CopySet.isUnfinished(name), let kind = try place.handle().statusIfPresent(name)?.kind,
            let node = try Self.node(child, kind)
        else { throw .notFound(name) }
        return node
    }

    func listing() throws(BackupError) -> FolderListing {
        let handle = try place.handle()
        let copied = place.copies.names(in: place.path, of: place.set)
        var nodes = copied.map { (name: $0, node: CopySetFile(place.child($0)) as any Node) }
        let known = Set(copied)
        for name in try handle.names() where !CopySet.isUnfinished(name) && !known.contains(name) {
            guard let kind = try handle.statusIfPresent(name)?.kind, let node = try Self.node(place.child(name), kind) else {
                continue
            }
            nodes.append((name, node))
        }
        return FolderListing(nodes.sorted { $0.name < $1.name })
    }

    // MARK: Changes

    func createFile(_ name: FileName) throws(BackupError) -> any FileNode {
        try createFile(name, permissions: place.context.filePermissions)
    }

    func createFile(_ name: FileName, permissions: UInt16) throws(BackupError) -> any FileNode {
        let child = place.child(name)
        _ = try place.copies.make(at: child.path, in: place.set, permissions: mode_t(permissions))
        return CopySetFile(child)
    }

    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        try makeDirectory(name, permissions: place.context.folderPermissions, unless: isCancelled)
    }

    func makeDirectory(
        _ name: FileName, permissions: UInt16, unless isCancelled: () -> Bool
    ) throws(BackupError) -> any Node {
        let child = place.child(name)
        guard try place.handle().statusIfPresent(name) == nil else {
            throw BackupError(.alreadyExists, "the name is taken", path: name.description)
        }
        try place.set.makeFolder(child.path, permissions: mode_t(permissions))
        return CopySetFolder(child)
    }

    func makeSymbolicLink(_ name: FileName, to target: [UInt8]) throws(BackupError) -> any Node {
        let child = place.child(name)
        guard child.copy == nil, try place.handle().statusIfPresent(name) == nil else {
            throw BackupError(.alreadyExists, "the name is taken", path: name.description)
        }
        try place.set.makeLink(child.path, to: target)
        return CopySetLink(child, to: target)
    }

    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        guard let target = newParent as? CopySetFolder, target.place.set === place.set else {
            throw BackupError(.crossDevice, "a file can only be copied from here", path: name.description)
        }
        let (old, new) = (place.child(name), target.place.child(newName))
        guard new.copy == nil else {
            throw BackupError(.alreadyExists, "the name is that of a file that is being copied", path: newName.description)
        }
        if let copy = old.copy, let draft = copy.openDraft {
            try place.set.rename(draft, to: new.path)
            return place.copies.move(copy, to: new.path, in: place.set)
        }
        try place.set.rename(old.path, to: new.path)
    }

    func removeFile(_ name: FileName) throws(BackupError) {
        let child = place.child(name)
        if let copy = child.copy { return copy.giveUp() }
        guard try place.handle().statusIfPresent(name) != nil else { throw .notFound(name) }
        try place.set.remove(child.path)
    }

    func removeDirectory(_ name: FileName) throws(BackupError) {
        guard try place.handle().statusIfPresent(name) != nil else { throw .notFound(name) }
        throw BackupError(
            .notPermitted, "nothing is removed here", path: name.description, remedy: "Remove it in the destinations.")
    }

    // MARK: Attributes

    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        try place.set(change)
        return try attributes()
    }

    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
        try place.handle().descriptor.extendedAttributes()
    }

    func listedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
        guard place.path.isEmpty else { return try storedExtendedAttributes() }
        // `ls -l` asks for the names.
        return place.set.root.look()?.extendedAttributes ?? []
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        try place.setExtendedAttribute(name, to: value)
    }
}
