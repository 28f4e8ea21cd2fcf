import BackupCore
import SystemIO

/// Reading served files: from extents down to chunks.
extension Repository {
    /// Reads a served file. Safe from any number of threads.
    /// - Returns: the number of bytes read; less than `buffer.count` only at the end of the file.
    /// - Throws: `repositoryDamaged` naming chunk and pack; errors of a source. The contents of `buffer` are undefined then.
    public func read(
        _ table: ExtentTable, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int {
        guard offset < table.size else { return 0 }
        let end = offset + min(UInt64(buffer.count), table.size - offset)
        var position = 0
        for slice in table.slices(in: offset..<end) {
            let count = Int(slice.range.upperBound - slice.range.lowerBound)
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[position..<position + count])
            try read(slice, into: target)
            position += count
        }
        return position
    }

    private func read(
        _ slice: ExtentTable.Slice, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        let start = Int(slice.range.lowerBound)
        switch slice.extent {
        case .literal(let bytes):
            bytes.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + buffer.count]))
            }
        case .plain(let chunk, let offset, _):
            try chunkReader.readPlain(chunk, at: Int(offset) + start, into: buffer)
        case .stored(let chunk):
            try chunkReader.readStored(chunk, at: start, into: buffer)
        case .source(let source, let offset, _):
            guard try source.readFully(at: offset + UInt64(start), into: buffer) == buffer.count else {
                throw BackupError(.inputOutput, "a file became shorter while it was read")
            }
        }
    }

    /// Announces to the kernel that these bytes of a served file will be read soon.
    public func expectReading(_ table: ExtentTable, _ range: Range<UInt64>) {
        for slice in table.slices(in: range) {
            switch slice.extent {
            case .plain(let chunk, _, _), .stored(let chunk): chunkReader.expectReading(chunk)
            case .literal, .source: break
            }
        }
    }
}
