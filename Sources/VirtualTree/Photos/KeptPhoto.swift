import BackupCore
import Photos
import SystemIO

/// A photo in `photos/starred/` that was copied there, as long as the store keeps its bytes: it can be read although the app's
/// media folder does not have it any more.
final class KeptPhoto: FileNode {
    /// Different bytes are different files to the kernel.
    let inode: InodeNumber
    private let name: FileName
    private let folder: InodeNumber
    private let photo: StarredPhoto
    private let copy: StarredPhoto.Copy
    private let context: TreeContext

    /// - Parameter folder: the number of `photos/starred/`.
    init(_ photo: StarredPhoto, _ copy: StarredPhoto.Copy, named name: FileName, in folder: InodeNumber, context: TreeContext) {
        self.name = name
        self.folder = folder
        self.photo = photo
        self.copy = copy
        self.context = context
        inode = folder.child(FileName("\(copy.sha256.hexadecimal)/\(name)"))
    }

    var looksAtTheStore: Bool { true }
    var hasKnownAttributes: Bool { true }
    /// Its bytes are hashed at the first look.
    var computesContent: Bool { true }
    var mimeType: String? { MIMEType.of(name) }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: copy.sizeBytes,
            modificationTime: copy.modificationTime)
    }

    /// File managers set times and modes after they have copied. The photo keeps its own.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        if let size = change.size, size != copy.sizeBytes { throw .readOnlyHere }
        return try attributes()
    }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        [(PhotoAttributes.starredName, "1"), (PhotoAttributes.statusName, photo.status)]
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        guard name == PhotoAttributes.starredName else {
            throw BackupError(.notSupported, "a star keeps no extended attributes of a copy", path: name)
        }
        switch value {
        case [UInt8(ascii: "1")]: return
        case [UInt8(ascii: "0")]: try context.services.setStarred(photo: Array(photo.path.utf8), false)
        default: throw BackupError(.invalidArgument, "user.backupfs.starred is 1 or 0", path: self.name.description)
        }
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        guard name == PhotoAttributes.starredName else { throw .noAttribute(name) }
        try context.services.setStarred(photo: Array(photo.path.utf8), false)
    }

    /// Writing over it is a new copy, which must have the same bytes.
    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard flags.asksToWrite else {
            return OpenSharedFile(try context.services.openKeptPhoto(copy.sha256, orPhoto: photo.path))
        }
        return try CopiedPhoto(name: name, folder: folder, over: photo, context: context)
            .open(flags: flags, process: process)
    }
}
