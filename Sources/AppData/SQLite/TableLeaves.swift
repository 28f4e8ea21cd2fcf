import BackupCore
import SystemIO

/// The leaves of a table's b-tree, in the order of its row numbers (SQLite's file format, sections 1.5 and 1.6). A leaf with the
/// same bytes has the same rows, unless a row continues on other pages.
public struct TableLeaves: Sendable, Equatable {
    /// Identifies the bytes of a leaf: the first half of their SHA-256.
    public struct Digest: Hashable, Sendable {
        /// The first eight bytes, the lowest first.
        public let first: UInt64
        /// The next eight bytes, the lowest first.
        public let second: UInt64

        public init(_ first: UInt64, _ second: UInt64) {
            self.first = first
            self.second = second
        }

        /// Of a leaf with rows that continue on other pages: equal bytes prove nothing.
        public static let unknown = Digest(0, 0)

        init(of page: UnsafeRawBufferPointer) {
            self = SHA256Hasher.hash(page).withUnsafeBytes { bytes in
                Digest(
                    UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
                    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
            }
        }
    }

    /// One for each leaf.
    public private(set) var digests: [Digest] = []
    /// The number of rows of each leaf, at least 1.
    public private(set) var rowCounts: [Int32] = []
    /// The last row number of each leaf, in ascending order.
    public private(set) var lastRows: [Int64] = []

    /// The number of leaves.
    public var count: Int { digests.count }

    /// Deeper than any tree can be: its pages would have to be in it twice.
    private static let depthLimit = 24

    /// - Parameters:
    ///   - file: a database that no program changes, without a log.
    ///   - rootPage: of a table with row numbers.
    ///   - limit: of the number of leaves.
    /// - Returns: `nil` for a table without rows, or with more leaves, and where the file is not what it should be.
    /// - Throws: errors of reading the file.
    public init?(of file: some ByteSource, rootPage: UInt32, limit: Int) throws(BackupError) {
        let start = try file.bytes(at: 0, upTo: SQLiteHeader.byteCount)
        guard let header = start.withUnsafeBytes({ SQLiteHeader($0) }) else { return nil }
        // Bytes at the end of each page that are not used.
        let usedBytes = header.pageSizeBytes - Int(start[20])
        guard usedBytes >= 480 else { return nil }
        var walk = Walk(pageCount: header.pageCount, usedBytes: usedBytes)
        var page = [UInt8](repeating: 0, count: header.pageSizeBytes)
        walk.pending = [(rootPage, 0)]
        while let (number, depth) = walk.pending.popLast() {
            guard walk.mayVisit(number, depth) else { return nil }
            let offset = UInt64(number - 1) * UInt64(page.count)
            let count = try page.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try file.readFully(at: offset, into: buffer)
            }
            guard count == page.count, page.withUnsafeBytes({ walk.take($0, depth, &self) }), digests.count <= limit else {
                return nil
            }
        }
        guard !digests.isEmpty else { return nil }
    }

    /// The pages still to be read, the next one last.
    private struct Walk {
        let pageCount: UInt32
        let usedBytes: Int
        var pending: [(page: UInt32, depth: Int)] = []
        private var visitedCount: UInt32 = 0

        init(pageCount: UInt32, usedBytes: Int) {
            self.pageCount = pageCount
            self.usedBytes = usedBytes
        }

        /// A damaged tree may have no end. Page 1 is the root of the schema.
        mutating func mayVisit(_ page: UInt32, _ depth: Int) -> Bool {
            visitedCount += 1
            return page > 1 && page <= pageCount && depth < TableLeaves.depthLimit && visitedCount <= pageCount
        }

        /// - Returns: false for a page that is not one of a table.
        mutating func take(_ page: UnsafeRawBufferPointer, _ depth: Int, _ leaves: inout TableLeaves) -> Bool {
            let cellCount = Int(page.number(at: 3, UInt16.self))
            switch page[0] {
            case 5:
                guard 12 + 2 * cellCount <= usedBytes else { return false }
                var children: [(UInt32, Int)] = []
                for cell in 0..<cellCount {
                    let place = Int(page.number(at: 12 + 2 * cell, UInt16.self))
                    guard place + 4 <= usedBytes else { return false }
                    children.append((page.number(at: place, UInt32.self), depth + 1))
                }
                children.append((page.number(at: 8, UInt32.self), depth + 1))
                pending += children.reversed()
                return true
            case 13: return takeLeaf(page, cellCount, &leaves)
            default: return false
            }
        }

        private func takeLeaf(_ page: UnsafeRawBufferPointer, _ cellCount: Int, _ leaves: inout TableLeaves) -> Bool {
            guard cellCount > 0, 8 + 2 * cellCount <= usedBytes else { return false }
            // More than this continues on other pages (section 1.6).
            let longestBytes = UInt64(usedBytes - 35)
            var isWhole = true
            var last = leaves.lastRows.last
            for cell in 0..<cellCount {
                var place = Int(page.number(at: 8 + 2 * cell, UInt16.self))
                guard let length = page.variableNumber(at: &place, end: usedBytes),
                    let row = page.variableNumber(at: &place, end: usedBytes).map(Int64.init(bitPattern:)),
                    last.map({ $0 < row }) ?? true
                else { return false }
                if length > longestBytes { isWhole = false }
                last = row
            }
            guard let last else { return false }
            leaves.digests.append(isWhole ? Digest(of: page) : .unknown)
            leaves.rowCounts.append(Int32(cellCount))
            leaves.lastRows.append(last)
            return true
        }
    }
}

extension UnsafeRawBufferPointer {
    /// A big-endian number, as all in a database file; 0 beyond the end.
    fileprivate func number<Value: FixedWidthInteger>(at offset: Int, _: Value.Type) -> Value {
        guard offset + MemoryLayout<Value>.size <= count else { return 0 }
        return Value(bigEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// A number of one to nine bytes (SQLite's file format, section 1.6: varint). Moves `place` behind it.
    fileprivate func variableNumber(at place: inout Int, end: Int) -> UInt64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard place < end else { return nil }
            let byte = self[place]
            place += 1
            if index == 8 { return value << 8 | UInt64(byte) }
            value = value << 7 | UInt64(byte & 0x7f)
            if byte < 0x80 { return value }
        }
        return nil
    }
}
