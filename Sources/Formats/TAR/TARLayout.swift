import BackupCore
import Synchronization

/// Lays files out as one tar archive without building it (POSIX.1-2001: ustar headers, and extended ones where needed). The
/// contents are the stored chunks, so reading the archive costs as much as reading its files; everything between them is
/// generated on read from one small list.
///
/// The same members in the same order must give the same bytes forever: a change to the written format needs a new `version`, and
/// the old one must still be served for the snapshots that were created with it.
public struct TARLayout: ArchiveLayout {
    /// The version of the rules for writing; recorded with each snapshot.
    public static let version: UInt32 = 1

    private var table = ExtentTable()
    private let headers = TARHeaderSource()
    /// How much of the headers is already in the table.
    private var placedLength: UInt64 = 0
    private var counter = SizeCounter()

    public init() {}

    /// Adds one entry. Writes names unchanged; the caller must ensure that they are unique.
    /// - Throws: `invalidArgument` for an empty name or a folder with content; `repositoryDamaged` when the pieces do not add up
    ///   to the member's size. The layout is unchanged then.
    public mutating func append(_ member: ArchiveMember) throws(BackupError) {
        let entry = try TAREntry(member)
        let total = member.content.reduce(0) { $0 + $1.length }
        guard total == member.size else {
            throw BackupError(
                .repositoryDamaged, "the pieces of the file have \(total) bytes together instead of \(member.size)",
                path: String(decoding: member.path, as: UTF8.self))
        }
        let length = headers.update { (list) -> UInt64 in
            list.append(entry)
            return list.length
        }
        counter.append(entry)
        guard entry.size > 0 else { return }
        place(upTo: length - entry.paddingSize)
        for piece in member.content { table.append(piece) }
    }

    /// Closes the archive with its end marker.
    public consuming func finish() -> ExtentTable {
        place(upTo: headers.update { $0.length } + counter.endSize)
        table.trim()
        headers.update { $0.trim() }
        assert(table.size == counter.archivedSize, "the size is known before the bytes are")
        return table
    }

    private mutating func place(upTo length: UInt64) {
        table.append(Extent.source(headers, offset: placedLength, length: length - placedLength))
        placedLength = length
    }
}

extension TARLayout {
    /// Counts the bytes of an archive member by member, for a folder listing, without the extents.
    public struct SizeCounter: ArchiveSizeCounter {
        private var memberSize: UInt64 = 0

        public init() {}

        /// - Throws: `invalidArgument` for an empty name or a folder with content; `repositoryDamaged` for a link without its
        ///   target.
        public mutating func append(_ member: ArchiveMember) throws(BackupError) { append(try TAREntry(member)) }

        /// Sums wrap around instead of trapping: damaged folders may contain any file size.
        mutating func append(_ entry: TAREntry) { memberSize &+= entry.headerSize &+ entry.size &+ entry.paddingSize }

        /// The zeros after the last member: two blocks, and the rest of the record.
        var endSize: UInt64 {
            let end = memberSize &+ TARFormat.endSizeBytes
            let rest = end % TARFormat.recordSizeBytes
            return TARFormat.endSizeBytes + (rest == 0 ? 0 : TARFormat.recordSizeBytes - rest)
        }

        /// Exact size in bytes of the archive of all members so far.
        public var archivedSize: UInt64 { memberSize &+ endSize }
    }
}

/// All headers of an archive, with the padding after contents, consecutively: some 50 bytes of memory plus the path for each
/// member. The bytes are generated on read.
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

/// The headers of one archive as a byte source. The layout fills the list while it creates extents of it; reads come afterwards.
final class TARHeaderSource: ByteSource {
    private let list = Mutex(TARHeaderList())

    func update<Result: Sendable>(_ change: (inout TARHeaderList) -> Result) -> Result { list.withLock { change(&$0) } }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        // A copy of two references: no thread blocks while headers are generated.
        let current = list.withLock { $0 }
        current.read(at: offset, into: buffer)
        return buffer.count
    }
}
