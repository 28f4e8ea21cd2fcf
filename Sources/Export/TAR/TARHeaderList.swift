import BackupCore

/// All headers of an archive, with the padding after contents, consecutively: some 50 bytes of memory plus the path for each member. The bytes are
/// generated on read.
struct TARHeaderList: Sendable {
    private struct Record {
        /// Where the headers start among the bytes of this list. The padding after the member's content follows them.
        let start: UInt64
        /// Where path and target start in `text`, one after the other.
        let textStart: Int
        let size: UInt64
        let seconds: Int64
        let nanoseconds: UInt32
        let pathLength: UInt32
        let targetLength: UInt32
        let permissions: UInt16
        let type: UInt8
    }

    private var records: [Record] = []
    private var text: [UInt8] = []
    /// Bytes of all headers and of the padding after contents.
    private(set) var length: UInt64 = 0

    /// Frees unused capacity.
    mutating func trim() {
        records.trim()
        text.trim()
    }

    mutating func append(_ entry: TAREntry) {
        records.append(
            Record(
                start: length, textStart: text.count, size: entry.size, seconds: entry.modificationTime.seconds,
                nanoseconds: entry.modificationTime.nanoseconds, pathLength: UInt32(entry.path.count),
                targetLength: UInt32(entry.linkTarget.count), permissions: UInt16(entry.permissions), type: entry.type))
        text += entry.path
        text += entry.linkTarget
        length += entry.headerSize + entry.paddingSize
    }

    /// Fills the buffer; after the last member, all bytes are zero without limit.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) {
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        let end = offset + UInt64(buffer.count)
        var index = self.index(containing: offset)
        while index < records.count, records[index].start < end {
            let start = records[index].start
            let header = entry(index).header
            let part = (max(start, offset)..<max(start, end)).clamped(to: start..<start + UInt64(header.count))
            if !part.isEmpty {
                header.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: buffer[Int(part.lowerBound - offset)...]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: bytes[Int(part.lowerBound - start)..<Int(part.upperBound - start)])
                    )
                }
            }
            index += 1
        }
    }

    private func entry(_ index: Int) -> TAREntry {
        let record = records[index]
        let targetStart = record.textStart + Int(record.pathLength)
        return TAREntry(
            path: Array(text[record.textStart..<targetStart]),
            linkTarget: Array(text[targetStart..<targetStart + Int(record.targetLength)]), type: record.type,
            permissions: UInt32(record.permissions), size: record.size,
            modificationTime: Timestamp(seconds: record.seconds, nanoseconds: record.nanoseconds))
    }

    /// The last record that starts at or before `offset`; 0 if there is none.
    private func index(containing offset: UInt64) -> Int {
        var low = 0
        var high = records.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if records[middle].start <= offset { low = middle } else { high = middle }
        }
        return low
    }
}
