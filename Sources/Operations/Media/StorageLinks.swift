import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// Spools symbolic links to a file: a million of them would take most of a gigabyte of memory.
final class StorageLinks {
    private static let bufferLimitBytes = 1 << 20

    private let file: SharedFile
    private var buffer = ByteWriter()
    private var writtenBytes: UInt64 = 0

    /// - Parameter folder: where the file is created. It is unnamed and disappears with this object.
    init(in folder: String) throws(BackupError) {
        let path = "\(folder)/links-\(RandomToken.make())"
        file = try SharedFile(try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600))
        try FileSystem.removeFile(path)
    }

    /// - Returns: its position in the file.
    func append(_ link: TreeEntry) throws(BackupError) -> UInt64 {
        let place = writtenBytes + UInt64(buffer.bytes.count)
        var writer = ByteWriter()
        writer.append(lengthPrefixed: link.name.bytes)
        writer.append(lengthPrefixed: link.linkTarget ?? [])
        writer.append(link.modificationTime)
        buffer.append(UInt32(writer.bytes.count))
        buffer.append(raw: writer.bytes)
        if buffer.bytes.count >= Self.bufferLimitBytes { try flush() }
        return place
    }

    private func flush() throws(BackupError) {
        guard !buffer.bytes.isEmpty else { return }
        try buffer.bytes.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.write(bytes, at: writtenBytes) }
        writtenBytes += UInt64(buffer.bytes.count)
        buffer = ByteWriter()
    }

    func link(at place: UInt64) throws(BackupError) -> TreeEntry {
        try flush()
        var length = ByteReader(try file.readExactly(at: place, count: 4))
        var reader = ByteReader(try file.readExactly(at: place + 4, count: Int(try length.read(UInt32.self))))
        let name = FileName(bytes: Array(try reader.readLengthPrefixed()))
        return .symbolicLink(
            name: name, target: Array(try reader.readLengthPrefixed()), modificationTime: try reader.readTimestamp())
    }
}
