import BackupCore
import Synchronization
import SystemIO

/// The export in `live/archive.zip`, for an app whose export lists its media, with the checksums of all files, including those without a backup. These files
/// are read when the archive is read, not when it is listed: its size is known without that (decision 26).
final class ArchiveExport: ByteSource {
    /// The export is assembled in memory. A larger one contains only the checksums that are known.
    static let limitBytes: UInt64 = 16 << 20

    private let text: SpoolFile
    private let placeholders: ChecksumPlaceholders
    private let media: LiveMediaView
    private let filled = Mutex<[UInt8]?>(nil)

    init(_ text: SpoolFile, _ placeholders: ChecksumPlaceholders, _ media: LiveMediaView) {
        self.text = text
        self.placeholders = placeholders
        self.media = media
    }

    var size: UInt64 { text.size }

    /// Reads the files on the first call.
    func bytes() throws(BackupError) -> [UInt8] {
        if let bytes = filled.withLock({ $0 }) { return bytes }
        var bytes = [UInt8](repeating: 0, count: Int(text.size))
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try text.read(at: 0, into: buffer)
        }
        guard count == bytes.count else { throw BackupError(.inputOutput, "a live file became shorter while it was read") }
        try placeholders.replace(in: &bytes) { (path) throws(BackupError) in
            guard let entry = try media.entry(at: ["media"] + BytePath.components(of: path)), entry.kind == .file else {
                throw BackupError(
                    .inputOutput, "a media file went while the archive was read", path: MessageText.name(path),
                    remedy: "Read the archive again.")
            }
            return try entry.checksums()
        }
        let whole = bytes
        filled.withLock { $0 = whole }
        return whole
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard offset < size else { return 0 }
        let bytes = try bytes()
        let count = min(buffer.count, bytes.count - Int(offset))
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count])) }
        return count
    }
}
