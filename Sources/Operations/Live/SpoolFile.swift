import BackupCore
import SystemIO

/// A rendered file without a name: it disappears with its last reader, also after a crash.
public final class SpoolFile: ByteSource {
    private let file: SharedFile
    /// Size in bytes.
    public let size: UInt64

    /// Takes over a finished file and unlinks it.
    convenience init(consuming path: String) throws(BackupError) {
        try self.init(keeping: path)
        try FileSystem.removeFile(path)
    }

    /// Takes over a finished file whose name is still needed for a while.
    init(keeping path: String) throws(BackupError) {
        file = try SharedFile(path: path)
        size = file.size
    }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try file.read(at: offset, into: buffer)
    }

    /// The whole file.
    var content: ContentPiece { .source(self, offset: 0, length: size) }

    func content(_ range: Range<UInt64>) -> ContentPiece {
        .source(self, offset: range.lowerBound, length: range.upperBound - range.lowerBound)
    }
}
