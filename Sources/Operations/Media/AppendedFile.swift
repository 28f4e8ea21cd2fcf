import BackupCore
import Glibc
import SystemIO

/// A file without a name that grows at its end, for what would take too much memory. It disappears with this object, also after a
/// crash.
final class AppendedFile {
    private static let bufferLimitBytes = 1 << 20

    private let file: SharedFile
    private var buffer: [UInt8] = []
    private var writtenBytes: UInt64 = 0

    /// - Parameter folder: where the file is created.
    init(in folder: String) throws(BackupError) {
        let path = "\(folder)/appended-\(RandomToken.make())"
        file = try SharedFile(try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600))
        try FileSystem.removeFile(path)
    }

    /// In bytes: the position of what is appended next.
    var sizeBytes: UInt64 { writtenBytes + UInt64(buffer.count) }

    func append(_ bytes: [UInt8]) throws(BackupError) {
        buffer += bytes
        if buffer.count >= Self.bufferLimitBytes { try flush() }
    }

    /// The file with all that was appended so far.
    func whole() throws(BackupError) -> SharedFile {
        try flush()
        return file
    }

    private func flush() throws(BackupError) {
        guard !buffer.isEmpty else { return }
        try buffer.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.write(bytes, at: writtenBytes) }
        writtenBytes += UInt64(buffer.count)
        buffer = []
    }
}
