import BackupCore

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
