import BackupCore

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
