import BackupCore
import Glibc
import SystemIO

/// A file that is copied into `photos/starred/`. Its bytes are not kept: they say which photo of the app's media folder gets the
/// star. The copy ends as a link to that photo, and close(2) fails where no photo has these bytes.
final class CopiedPhoto: FileNode {
    let inode: InodeNumber
    private let name: FileName
    private let context: TreeContext
    private let content = Monitor(CopiedContent())

    /// - Parameter folder: the number of `photos/starred/`.
    init(name: FileName, folder: InodeNumber, context: TreeContext) {
        self.name = name
        self.context = context
        inode = folder.child(FileName("\(RandomToken.make())/copy"))
    }

    var looksAtTheApp: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: content.withLock { $0.sizeBytes },
            modificationTime: SystemClock.now())
    }

    /// Copy programs set times and modes. The photo keeps its own.
    func setAttributes(_ change: AttributeChange) throws(BackupError) -> NodeAttributes {
        if let size = change.size { try changing { (content) throws(BackupError) in try content.truncate(to: size) } }
        return try attributes()
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        throw BackupError(.notSupported, "a star keeps no extended attributes of a copy", path: name)
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard flags & O_ACCMODE != O_RDONLY else {
            throw BackupError(.notPermitted, "a copy that is being made cannot be read", path: name.description)
        }
        return OpenCopy(self, process: process)
    }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        try changing { (content) throws(BackupError) in try content.write(at: offset, bytes, name) }
    }

    private func changing(_ body: (CopiedContent) throws(BackupError) -> Void) throws(BackupError) {
        try content.withLock { content in Result { () throws(BackupError) in try body(content) } }.get()
    }

    /// Stars the photo with the copied bytes. Without any, nothing happens: some programs create a file before they write to it.
    func star() throws(BackupError) {
        guard let copied = content.withLock({ $0.finish() }) else { return }
        try context.services.starPhoto(content: copied.sha256, sizeBytes: copied.sizeBytes, named: name)
    }
}

/// The bytes of a copy so far: only their number and their checksum.
private final class CopiedContent {
    private var hasher = SHA256Hasher()
    private(set) var sizeBytes: UInt64 = 0
    private var isFinished = false

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer, _ name: FileName) throws(BackupError) {
        guard offset == sizeBytes, !isFinished else {
            throw BackupError(
                .invalidArgument, "a copy is written here from its beginning to its end, once", path: name.description,
                remedy: "Use cp, or make a link with: ln -s.")
        }
        hasher.update(bytes)
        sizeBytes += UInt64(bytes.count)
    }

    func truncate(to size: UInt64) throws(BackupError) {
        if size == sizeBytes { return }
        guard size == 0 else {
            throw BackupError(.invalidArgument, "a copy is written here from its beginning to its end, once")
        }
        hasher = SHA256Hasher()
        sizeBytes = 0
        isFinished = false
    }

    /// - Returns: `nil` without content, and when it was called before.
    func finish() -> (sha256: SHA256Digest, sizeBytes: UInt64)? {
        guard sizeBytes > 0, !isFinished else { return nil }
        isFinished = true
        return (hasher.finish(), sizeBytes)
    }
}

/// A copy while it is open.
private final class OpenCopy: OpenFile {
    private static let bufferSizeBytes = 1 << 20
    /// What one request of copy_file_range(2) copies at most: the program waits for it.
    private static let copyLimitBytes: UInt64 = 64 << 20

    let keepsCache = false
    let usesDirectIO = true
    private let file: CopiedPhoto
    /// The process; `nil` when it is unknown.
    private let opener: Int32?

    init(_ file: CopiedPhoto, process: Int32) {
        self.file = file
        opener = ProcessIdentity.process(ofThread: process)
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        throw BackupError(.notPermitted, "a copy that is being made cannot be read")
    }

    func write(at offset: UInt64, _ bytes: UnsafeRawBufferPointer) throws(BackupError) { try file.write(at: offset, bytes) }

    func copy(
        from source: any OpenFile, at sourceOffset: UInt64, to offset: UInt64, count: UInt64
    ) throws(BackupError) -> UInt64 {
        var done: UInt64 = 0
        var bytes = [UInt8](repeating: 0, count: Self.bufferSizeBytes)
        while done < min(count, Self.copyLimitBytes) {
            let part = Int(min(UInt64(bytes.count), count - done))
            let copied = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try source.read(at: sourceOffset + done, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<part]))
            }
            if copied == 0 { break }
            try bytes.withUnsafeBytesThrowing(count: copied) { (buffer) throws(BackupError) in
                try file.write(at: offset + done, buffer)
            }
            done += UInt64(copied)
        }
        return done
    }

    /// A child that inherited the descriptor closes it, too, perhaps in the middle of the copy.
    func flush(process: Int32) throws(BackupError) {
        if let opener, let closer = ProcessIdentity.process(ofThread: process), closer != opener { return }
        try file.star()
    }

    /// The opener may have ended before its child: then no close was its own.
    func release() { try? file.star() }
}
