import BackupCore
import SystemIO

/// A rendered file without a name, or a range of one. The file disappears with its last reader, also after a crash.
public final class SpoolFile: ByteSource {
    private let file: SharedFile
    /// Its place in the file.
    let range: Range<UInt64>

    private init(_ file: SharedFile, _ range: Range<UInt64>) {
        self.file = file
        self.range = range
    }

    /// Takes over a finished file and unlinks it.
    convenience init(consuming path: String) throws(BackupError) {
        try self.init(keeping: path)
        try FileSystem.removeFile(path)
    }

    /// Takes over a finished file whose name is still needed for a while.
    convenience init(keeping path: String) throws(BackupError) {
        let file = try SharedFile(path: path)
        self.init(file, 0..<file.size)
    }

    /// - Parameter range: within this one.
    func part(_ range: Range<UInt64>) -> SpoolFile {
        SpoolFile(file, self.range.lowerBound + range.lowerBound..<self.range.lowerBound + range.upperBound)
    }

    /// Size in bytes.
    public var size: UInt64 { range.upperBound - range.lowerBound }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard offset < size else { return 0 }
        let count = min(buffer.count, Int(size - offset))
        return try file.read(at: range.lowerBound + offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
    }

    /// All of it.
    var content: ContentPiece { .source(self, offset: 0, length: size) }
}
