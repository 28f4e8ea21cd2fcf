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

/// A range of a byte source as a separate source.
final class SourceRange: ByteSource {
    private let source: any ByteSource
    private let range: Range<UInt64>

    init(_ source: any ByteSource, _ range: Range<UInt64>) {
        self.source = source
        self.range = range
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let length = range.upperBound - range.lowerBound
        guard offset < length else { return 0 }
        let count = min(buffer.count, Int(length - offset))
        return try source.read(
            at: range.lowerBound + offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
    }
}

/// A table of literals and byte sources as one source: live files have no chunks.
final class TableSource: ByteSource {
    private let table: ExtentTable

    init(_ table: ExtentTable) { self.table = table }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard offset < table.size else { return 0 }
        var position = 0
        for slice in table.slices(in: offset..<min(table.size, offset + UInt64(buffer.count))) {
            let count = Int(slice.range.upperBound - slice.range.lowerBound)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[position..<position + count])
            switch slice.extent {
            case .literal(let bytes):
                let start = Int(slice.range.lowerBound)
                bytes.withUnsafeBytes { part.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
            case .source(let source, let sourceOffset, _):
                let read = try source.read(at: sourceOffset + slice.range.lowerBound, into: part)
                guard read == count else { throw BackupError(.inputOutput, "a live file became shorter while it was read") }
            case .plain, .stored: throw BackupError(.inputOutput, "a live file cannot have stored chunks")
            }
            position += count
        }
        return position
    }
}
