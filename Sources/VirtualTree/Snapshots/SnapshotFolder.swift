import BackupCore
import BackupRepository
import Photos
import SystemIO

/// `snapshots/NAME/`: the stored tree and the views derived from it.
final class SnapshotFolder: FolderNode {
    let inode: InodeNumber
    private let snapshot: Snapshot
    private let context: TreeContext

    init(_ snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        self.snapshot = snapshot
        self.inode = inode
        self.context = context
    }

    private static let attributePrefix = "user.backupfs."
    /// In code points. The kernel limits an attribute to 64 KiB.
    private static let valueLimit = 4_000
    static let pinnedName = "user.backupfs.pinned"

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = context.folderAttributes(inode, time: snapshot.creationTime, isImmutable: true)
        // The name may be given to another snapshot, or disappear, at any time.
        attributes.entryTimeoutSeconds = TreeContext.snapshotTimeoutSeconds
        return attributes
    }

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }

    /// Looking for a name in it may render the export.
    var looksAtTheApp: Bool { context.services.showsRenderedExport(snapshot) }

    private var rendered: StoredFolder { StoredFolder(renderedIn: snapshot, inode: inode, context: context) }

    private var stored: StoredFolder { StoredFolder(rootOf: snapshot, inode: inode, context: context) }

    /// The files computed from it, by name.
    private func views() -> [(name: FileName, node: ComputedFile)] {
        var forms: [ComputedFile.Form] = [.listing(.md5), .listing(.sha256), .archive(.tar), .archive(.zip)]
        if snapshot.storesExport || context.services.showsRenderedExport(snapshot) { forms.append(.page) }
        return forms.map {
            ($0.fileName, ComputedFile($0, of: snapshot, inode: inode.child($0.fileName), context: context))
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        if let view = views().first(where: { $0.name == name }) { return view.node }
        if context.services.showsRenderedExport(snapshot), let node = rendered.renderedNodes.first(where: { $0.name == name }) {
            return node.node
        }
        if name == PhotoPlaces.viewFolderName, let photos = try photos() { return photos }
        return try stored.child(named: name)
    }

    /// - Returns: `nil` for a snapshot without a list of photos.
    private func photos() throws(BackupError) -> PhotosFolder? {
        guard try PhotoIndex.file(in: snapshot, of: context.repository) != nil else { return nil }
        return PhotosFolder(
            StoredPhotos(snapshot: snapshot, context: context), inode: inode.child(PhotoPlaces.viewFolderName), context: context)
    }

    func listing() throws(BackupError) -> FolderListing {
        if context.services.showsRenderedExport(snapshot) { return try renderedListing() }
        // The archive's size of an older snapshot is computed from its folders. A damaged folder must not hide all other files.
        var shown: [(name: FileName, node: any Node)] = []
        for view in views() where try view.node.canBeListed() { shown.append(view) }
        if let photos = try photos() { shown.append((PhotoPlaces.viewFolderName, photos)) }
        return FolderListing(shown).followed(by: try stored.listing())
    }

    /// With the names alone of what depends on the export, since a program that asks for no sizes must not render it.
    private func renderedListing() throws(BackupError) -> FolderListing {
        var named = rendered.renderedNodes
        for view in views() { named.append(view) }
        var shown: [(name: FileName, node: any Node)] = []
        if let photos = try photos() { shown.append((PhotoPlaces.viewFolderName, photos)) }
        return FolderListing(namesOf: named).followed(by: FolderListing(shown)).followed(by: try stored.listing())
    }

    var isImmutable: Bool { true }
    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.immutableTimeoutSeconds }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        // Another node of the same snapshot may have pinned it since this one was created.
        let current = context.repository.snapshot(id: snapshot.id) ?? snapshot
        // Older programs stored texts of the app's database unchanged: they may be too long for an attribute, or contain a NUL.
        var attributes = current.publicAttributes.map {
            (name: Self.attributePrefix + $0.key, value: MessageText.shortened($0.value, limit: Self.valueLimit))
        }
        attributes.append((Self.attributePrefix + "created-at", ISO8601.format(current.creationTime.wholeSeconds)))
        attributes.append((Self.pinnedName, current.isPinned ? "1" : "0"))
        attributes.append((StateAttribute.name, PendingFolder.finishedState))
        if let time = current.verifiedAt { attributes.append((Self.attributePrefix + "verified-at", ISO8601.format(time))) }
        return attributes.sorted { $0.name < $1.name }
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        guard name == Self.pinnedName, !context.isReadOnlyCopy else { throw .readOnlyHere }
        let isPinned = try Self.isPin(value, of: snapshot.name)
        try context.requireRepository()
        try context.services.setPinned(snapshot, isPinned)
    }

    /// - Throws: `invalidArgument` for anything but `1` or `0`.
    static func isPin(_ value: [UInt8], of name: FileName) throws(BackupError) -> Bool {
        switch value {
        case [UInt8(ascii: "1")]: return true
        case [UInt8(ascii: "0")]: return false
        default: throw BackupError(.invalidArgument, "user.backupfs.pinned is 1 or 0", path: name.description)
        }
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        guard name == Self.pinnedName, !context.isReadOnlyCopy else { throw .readOnlyHere }
        try context.requireRepository()
        try context.services.setPinned(snapshot, false)
    }
}
