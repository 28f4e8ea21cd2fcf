import BackupCore
import CopyVerify
import Glibc
import SystemIO

/// A file of a set: while a program copies it, the bytes that have come so far, and else the file of the first destination that
/// can be read.
final class CopySetFile: FileNode, CopySetNode {
    let place: CopySetNodePlace

    init(_ place: CopySetNodePlace) { self.place = place }

    func attributes() throws(BackupError) -> NodeAttributes {
        if let draft = place.copy?.draft, let status = try? draft.status() {
            return place.attributes(.file, status, permissions: UInt16(truncatingIfNeeded: draft.permissions))
        }
        return place.attributes(.file, try place.folder().status(place.name()))
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        if let copy = place.copy { return try copy.open(flags: flags, process: process) }
        guard flags.asksToWrite else { return OpenSharedFile(try SharedFile(place.folder().openFile(place.name()))) }
        guard flags & O_TRUNC != 0 else {
            throw BackupError(
                .notPermitted, "a file is only written as a whole here", path: MessageText.name(BytePath.joined(place.path)),
                remedy: "Copy the whole file.")
        }
        let permissions = try place.folder().status(place.name()).mode & 0o7777
        return try place.copies.make(at: place.path, in: place.set, permissions: mode_t(permissions))
            .open(flags: flags, process: process)
    }

    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        if let copy = place.copy, let draft = copy.openDraft {
            if let size = change.size { try copy.write { () throws(BackupError) in try draft.truncate(to: size) } }
            try draft.setAttributes(
                permissions: change.permissions.map { mode_t($0) }, modificationTime: change.modificationTime)
        } else {
            if let size = change.size, try size != attributes().size {
                throw BackupError(
                    .notPermitted, "a file is only written as a whole here", path: MessageText.name(BytePath.joined(place.path)),
                    remedy: "Copy the whole file.")
            }
            try place.set(change)
        }
        return try attributes()
    }

    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
        if let draft = place.copy?.draft { return try draft.extendedAttributes() }
        return try place.folder().openFile(place.name()).extendedAttributes()
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        try place.setExtendedAttribute(name, to: value)
    }
}

/// A symbolic link of a set, with one particular target.
final class CopySetLink: LinkNode, CopySetNode {
    let place: CopySetNodePlace
    let inode: InodeNumber
    private let path: [UInt8]

    init(_ place: CopySetNodePlace, to path: [UInt8]) {
        self.place = place
        self.path = path
        inode = place.inode.link(to: path)
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = place.attributes(.symbolicLink, try place.folder().status(place.name()), permissions: 0o777)
        attributes.inode = inode
        // Another link may be there by now, and older kernels cut the target that they keep off at this length.
        attributes.size = UInt64(path.count)
        return attributes
    }

    func target() throws(BackupError) -> [UInt8] { path }

    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        try place.set(change)
        return try attributes()
    }
}
