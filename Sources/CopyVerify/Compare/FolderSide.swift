import BackupCore
import SystemIO

/// A folder on a disk, or in a mounted backup.
public struct FolderSide: ComparedSide {
    /// The checksum that a file of our own mount has, without being read by this process.
    private static let checksumAttribute = "user.checksum.sha256"

    public let title: String
    public var knowsSizes: Bool { true }
    public var knowsFolders: Bool { true }
    public var onlyAlgorithms: [HashAlgorithm]? { nil }

    private let path: String
    private let handle: DirectoryHandle
    private let context: FolderContext

    /// - Parameters:
    ///   - path: a folder.
    ///   - mountType: the type of our own mounts in the table of mounts. In one of them the checksums are those that the mount
    ///     says, instead of being computed.
    ///   - excluded: files of the other side, which are left out where they are in the folder.
    ///   - excludedName: left out in all folders.
    public init(
        path: String, title: String, checksums: FileChecksums, mountType: String, excluded: Set<FileIdentity> = [],
        excludedName: FileName? = nil
    ) throws(BackupError) {
        self.title = title
        self.path = path
        handle = try DirectoryHandle(path: path)
        let real = try FileSystem.realPath(path)
        let device = try handle.descriptor.status().device
        let mount = try MountTable.current().entry(holding: real)
        let isOwn = mount.map { $0.fileSystemType == mountType && $0.isOf(device: device) } ?? false
        context = FolderContext(
            root: Array(real.utf8), checksums: checksums, mountedDevice: isOwn ? device : nil,
            attribute: Self.checksumAttribute, excluded: excluded, excludedName: excludedName)
    }

    public func root() -> any ComparedFolder { DiskFolder(handle, at: [], context) }

    public func requireUnchanged(_ names: [FileName]) throws(BackupError) {
        let own = FileIdentity(try handle.descriptor.status())
        let present = try FileSystem.identityIfPresent(path)
        let isSame = try root().names() == names
        guard present == own, isSame else {
            throw BackupError(
                .stale, "the folder is not as it was when the comparison began", path: title,
                remedy: "See whether the disk is still connected, and compare once more.")
        }
    }
}

/// What all folders of a side share.
private final class FolderContext: Sendable {
    let root: [UInt8]
    let checksums: FileChecksums
    /// Of our own mount, if the side is in one.
    let mountedDevice: UInt64?
    let attribute: String
    let excluded: Set<FileIdentity>
    let excludedName: FileName?

    init(
        root: [UInt8], checksums: FileChecksums, mountedDevice: UInt64?, attribute: String, excluded: Set<FileIdentity>,
        excludedName: FileName?
    ) {
        self.root = root
        self.checksums = checksums
        self.mountedDevice = mountedDevice
        self.attribute = attribute
        self.excluded = excluded
        self.excludedName = excludedName
    }
}

private final class DiskFolder: ComparedFolder {
    private let handle: DirectoryHandle
    private let path: [UInt8]
    private let context: FolderContext

    init(_ handle: DirectoryHandle, at path: [UInt8], _ context: FolderContext) {
        self.handle = handle
        self.path = path
        self.context = context
    }

    func names() throws(BackupError) -> [FileName] {
        let names = try listedNames()
        guard let excluded = context.excludedName else { return names }
        return names.filter { $0 != excluded }
    }

    private func listedNames() throws(BackupError) -> [FileName] {
        guard !context.excluded.isEmpty else { return try handle.names() }
        let inodes = Set(context.excluded.map(\.inode))
        var suspects: Set<FileName> = []
        let names = try handle.names { name, inode, _ in if inodes.contains(inode) { suspects.insert(name) } }
        // The number of a name in a listing is not enough: other devices have the same numbers.
        for name in suspects {
            guard let status = try handle.statusIfPresent(name), context.excluded.contains(FileIdentity(status)) else {
                suspects.remove(name)
                continue
            }
        }
        return suspects.isEmpty ? names : names.filter { !suspects.contains($0) }
    }

    func item(_ name: FileName) throws(BackupError) -> ComparedItem? {
        guard let status = try handle.statusIfPresent(name) else { return nil }
        return switch status.kind {
        case .directory: ComparedItem(.folder)
        case .symbolicLink: ComparedItem(.link)
        case .regular:
            ComparedItem(.file, sizeBytes: status.size, modificationTime: status.modificationTime, status: status)
        case .other: ComparedItem(status.isSocket ? .socket : status.isPipe ? .pipe : .device)
        }
    }

    func folder(_ name: FileName) throws(BackupError) -> any ComparedFolder {
        DiskFolder(try handle.openDirectory(name), at: BytePath.join(path, name.bytes), context)
    }

    func linkTarget(_ name: FileName) throws(BackupError) -> [UInt8] { try handle.readLink(name) }

    func checksum(
        _ name: FileName, _ item: ComparedItem, _ algorithm: HashAlgorithm
    ) throws(BackupError) -> [UInt8] {
        let file = try handle.openFile(name)
        if algorithm == .sha256, let device = context.mountedDevice, item.status?.device == device,
            let known = try mountedChecksum(of: file, item)
        {
            return known
        }
        let place = context.root == [UInt8(ascii: "/")] ? [] : context.root
        return try context.checksums.checksum(
            of: file, at: place + [UInt8(ascii: "/")] + BytePath.join(path, name.bytes), algorithm, expected: item.status)
    }

    /// - Returns: `nil` for a file without one.
    private func mountedChecksum(
        of file: borrowing OwnedDescriptor, _ item: ComparedItem
    ) throws(BackupError) -> [UInt8]? {
        guard let text = try file.extendedAttribute(context.attribute) else { return nil }
        guard try file.status() == item.status else { throw FileChecksums.changed(file.path) }
        return SHA256Digest(hexadecimal: String(decoding: text, as: UTF8.self))?.bytes
    }

    func content(_ name: FileName, _ item: ComparedItem) throws(BackupError) -> any ComparedContent {
        DiskContent(try UncachedFile(name, in: handle), name, handle, expected: item.status)
    }
}

/// A file, read past the page cache where that is possible.
private struct DiskContent: ComparedContent {
    private let file: UncachedFile
    private let name: FileName
    private let folder: DirectoryHandle
    private let expected: FileStatus?
    private let buffer = AlignedBuffer()
    private var position: UInt64 = 0

    init(_ file: UncachedFile, _ name: FileName, _ folder: DirectoryHandle, expected: FileStatus?) {
        self.file = file
        self.name = name
        self.folder = folder
        self.expected = expected
    }

    mutating func next() throws(BackupError) -> UnsafeRawBufferPointer? {
        try Cancellation.check()
        let path = "\(folder.path)/\(name)"
        if position == 0, let expected, expected != file.status { throw FileChecksums.changed(path) }
        let size = file.status.size
        if position < size {
            let wanted = min(size - position, UInt64(AlignedBuffer.byteCount))
            let count = UInt64(try file.read(at: position, into: buffer.prefix(wanted)))
            try FaultInjection.reached("compare.read")
            guard count >= wanted else { throw FileChecksums.changed(path) }
            position += wanted
            return UnsafeRawBufferPointer(rebasing: buffer.bytes[..<Int(wanted)])
        }
        guard try folder.status(name) == file.status else { throw FileChecksums.changed(path) }
        return nil
    }
}
