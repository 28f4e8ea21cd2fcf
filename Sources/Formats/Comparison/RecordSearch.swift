import BackupCore

/// Finds one record in a collection of any size by its key, without reading the rest.
///
/// Exports are in ascending order of the key (`WireWriter`), so this is a binary search over places between two records: a line
/// feed, four spaces and a brace, which occur nowhere inside a record. A small collection is read from its beginning instead, and
/// so is one that proves not to be in order. Records whose key is neither a whole number nor a text are passed over.
public struct RecordSearch {
    /// A record in a collection.
    public struct Found: Sendable, Equatable {
        /// The text of the record, from its opening to its closing brace, as a range of bytes of the collection.
        public let range: Range<UInt64>
        /// Equal for two records with the same members and values in the same order, whatever white space they have.
        public let content: [UInt8]
    }

    private static let separator = Array("\n    {".utf8)
    /// Before the first record of a collection.
    private static let beginning = Array("[\n    {".utf8)
    /// At this length, reading on costs less than another step of the search.
    private static let readLengthBytes: UInt64 = 32 << 10
    private static let blockLengthBytes = 16 << 10

    private let source: any ByteSource
    private let sizeBytes: UInt64
    private let key: String

    /// - Parameters:
    ///   - source: an array of objects (`data/COLLECTION.json`).
    ///   - sizeBytes: its length.
    ///   - key: the member that identifies a record.
    public init(_ source: any ByteSource, sizeBytes: UInt64, key: String) {
        self.source = source
        self.sizeBytes = sizeBytes
        self.key = key
    }

    /// - Returns: `nil` when the collection has no record with this key.
    /// - Throws: `damagedContent` when it is not an array of objects, as far as it was read; errors of the source.
    public func find(_ wanted: JSONKey) throws(BackupError) -> Found? {
        guard sizeBytes > Self.readLengthBytes,
            try source.bytes(at: 0, upTo: Self.beginning.count).elementsEqual(Self.beginning)
        else { return try scan(wanted) }
        // The record, if there is one, begins in `low..<high`, where `low` is the beginning of a record.
        var low = UInt64(Self.beginning.count - 1)
        var high = sizeBytes
        var lowKey: JSONKey?
        var highKey: JSONKey?
        while high - low > Self.readLengthBytes {
            let middle = low + (high - low) / 2
            guard let start = try firstRecord(from: middle, before: high), let record = try record(from: start),
                record.found.range.lowerBound < high
            else {
                high = middle
                continue
            }
            if record.key == wanted { return record.found }
            // Keys out of order: nothing can be concluded from them.
            if let lowKey, record.key <= lowKey { return try scan(wanted) }
            if let highKey, record.key >= highKey { return try scan(wanted) }
            if record.key < wanted {
                low = record.found.range.lowerBound
                lowKey = record.key
            } else {
                high = middle
                highKey = record.key
            }
        }
        return try scan(wanted, from: low, before: high)
    }

    /// The keys of the first records, in the order of the collection.
    /// - Returns: also whether these are all.
    public func keys(limit: Int) throws(BackupError) -> (keys: [JSONKey], areAll: Bool) {
        let cursor = RecordCursor(source, key: key, skipsUnusableKeys: true)
        var keys: [JSONKey] = []
        while try cursor.advance() {
            guard keys.count < limit else { return (keys, false) }
            if let key = cursor.key { keys.append(key) }
        }
        return (keys, true)
    }

    /// The beginning of the first record that begins in `place..<limit`.
    private func firstRecord(from place: UInt64, before limit: UInt64) throws(BackupError) -> UInt64? {
        var offset = place - UInt64(Self.separator.count - 1)
        while offset < limit {
            let bytes = try source.bytes(at: offset, upTo: Self.blockLengthBytes)
            if let index = bytes.firstRange(of: Self.separator)?.lowerBound {
                let start = offset + UInt64(index + Self.separator.count - 1)
                return start < limit ? start : nil
            }
            guard bytes.count == Self.blockLengthBytes else { return nil }
            offset += UInt64(bytes.count - Self.separator.count + 1)
        }
        return nil
    }

    /// The first record with a key that begins at `start`, where there is one, or later; `nil` when none is left.
    private func record(from start: UInt64) throws(BackupError) -> (key: JSONKey, found: Found)? {
        let cursor = cursor(from: start)
        guard try cursor.advance(), let key = cursor.key else { return nil }
        return (key, found(cursor, start))
    }

    /// Reads records from `start` on, which must begin one, until the next one begins at `limit` or later.
    private func scan(_ wanted: JSONKey, from start: UInt64, before limit: UInt64) throws(BackupError) -> Found? {
        let cursor = cursor(from: start)
        var place = start
        while place < limit, try cursor.advance() {
            if cursor.key == wanted { return found(cursor, start) }
            place = start + cursor.place - 1
        }
        return nil
    }

    /// Reads the whole collection.
    private func scan(_ wanted: JSONKey) throws(BackupError) -> Found? {
        let cursor = RecordCursor(source, key: key, skipsUnusableKeys: true)
        while try cursor.advance() {
            guard cursor.key == wanted else { continue }
            return Found(range: cursor.start..<cursor.place, content: cursor.content)
        }
        return nil
    }

    private func cursor(from start: UInt64) -> RecordCursor {
        RecordCursor(EnclosedSource("[", source, from: start), key: key, isSkipping: true, skipsUnusableKeys: true)
    }

    /// - Parameter base: where the cursor's source begins, behind its bracket.
    private func found(_ cursor: RecordCursor, _ base: UInt64) -> Found {
        Found(range: base + cursor.start - 1..<base + cursor.place - 1, content: cursor.content)
    }
}

/// A part of a source between two texts.
public final class EnclosedSource: ByteSource {
    private let source: any ByteSource
    private let range: Range<UInt64>
    private let before: [UInt8]
    private let after: [UInt8]

    /// - Parameters:
    ///   - before: precedes the part.
    ///   - start: where the part begins in the source.
    ///   - end: where it ends; the source must be as long.
    ///   - after: follows the part.
    public init(_ before: String, _ source: any ByteSource, from start: UInt64 = 0, to end: UInt64 = .max, _ after: String = "") {
        self.source = source
        range = start..<end
        self.before = Array(before.utf8)
        self.after = Array(after.utf8)
    }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let head = UInt64(before.count)
        if offset < head { return copy(before, Int(offset), buffer) }
        let place = range.lowerBound.addingReportingOverflow(offset - head)
        if !place.overflow, place.partialValue < range.upperBound {
            let count = Int(min(UInt64(buffer.count), range.upperBound - place.partialValue))
            return try source.read(at: place.partialValue, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
        }
        return copy(after, Int(clamping: offset - head - UInt64(range.count)), buffer)
    }

    private func copy(_ bytes: [UInt8], _ start: Int, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let part = bytes[min(start, bytes.count)...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
    }
}
