import BackupCore
import SystemIO

/// Determines how far two collections can be skipped side by side because their bytes are the same: from one place between two
/// records to another. For one thread, and for ascending places.
///
/// From the same state, the same bytes lead a JSON reader to the same state. So this needs a place between two records near the
/// end of a common range. `WireWriter` begins each record with a line feed and four spaces, and lines inside a record with more;
/// a JSON string contains no line feed. So the surrounding bytes identify such a place.
final class CommonRecords {
    /// The separator between two records, from the end of the first.
    private static let separator = Array(",\n    {".utf8)
    /// How far before the end of a range to search for a place. Longer records are read.
    private static let searchLengthBytes = 16 << 10
    private static let blockLengthBytes = 4 << 10

    private let ranges: [CommonRange]
    private let old: any ByteSource
    private let new: any ByteSource
    private var index = -1
    /// The current range in the newer collection, extended by equal bytes before and after it.
    private var start: UInt64 = 0
    private var end: UInt64 = 0
    /// The last separator in it.
    private var landing: UInt64?

    /// - Parameter ranges: in ascending order in both collections.
    init(_ ranges: [CommonRange], old: any ByteSource, new: any ByteSource) {
        self.ranges = ranges
        self.old = old
        self.new = new
    }

    /// - Parameters:
    ///   - oldPlace: the end of a record in the older collection, in bytes.
    ///   - newPlace: the end of a record in the newer one.
    /// - Returns: a comma after records in both, up to which all bytes from the given places are the same; `nil` when there is
    ///   none ahead.
    func comma(after oldPlace: UInt64, _ newPlace: UInt64) throws(BackupError) -> (old: UInt64, new: UInt64)? {
        while index < ranges.count, index < 0 || newPlace >= end { try moveOn() }
        guard index < ranges.count, newPlace >= start, let landing, landing > newPlace else { return nil }
        let range = ranges[index]
        guard newPlace &- oldPlace == range.newStart &- range.oldStart else { return nil }
        return (oldPlace + (landing - newPlace), landing)
    }

    private func moveOn() throws(BackupError) {
        index += 1
        guard index < ranges.count else { return }
        let range = ranges[index]
        let before = index > 0 ? ranges[index - 1] : CommonRange(oldStart: 0, newStart: 0, length: 0)
        let gap = min(range.oldStart - before.oldEnd, range.newStart - before.newEnd)
        start = try range.newStart - sameBefore(range, limit: gap)
        end = try range.newEnd + sameBehind(range)
        landing = try lastSeparator(in: start..<end)
    }

    /// The number of equal bytes directly before a range.
    private func sameBefore(_ range: CommonRange, limit: UInt64) throws(BackupError) -> UInt64 {
        var count: UInt64 = 0
        while count < limit {
            let length = min(UInt64(Self.blockLengthBytes), limit - count)
            let one = try old.bytes(at: range.oldStart - count - length, upTo: Int(length))
            let other = try new.bytes(at: range.newStart - count - length, upTo: Int(length))
            guard one.count == Int(length), other.count == Int(length) else { break }
            var same = 0
            while same < one.count, one[one.count - 1 - same] == other[other.count - 1 - same] { same += 1 }
            count += UInt64(same)
            if same < Int(length) { break }
        }
        return count
    }

    /// The number of equal bytes directly after a range.
    private func sameBehind(_ range: CommonRange) throws(BackupError) -> UInt64 {
        let next = index + 1 < ranges.count ? ranges[index + 1] : nil
        let limit = next.map { min($0.oldStart - range.oldEnd, $0.newStart - range.newEnd) } ?? .max
        var count: UInt64 = 0
        while count < limit {
            let length = Int(min(UInt64(Self.blockLengthBytes), limit - count))
            let one = try old.bytes(at: range.oldEnd + count, upTo: length)
            let other = try new.bytes(at: range.newEnd + count, upTo: length)
            var same = 0
            while same < min(one.count, other.count), one[same] == other[same] { same += 1 }
            count += UInt64(same)
            if same < length { break }
        }
        return count
    }

    private func lastSeparator(in range: Range<UInt64>) throws(BackupError) -> UInt64? {
        let length = min(UInt64(Self.searchLengthBytes), range.upperBound - range.lowerBound)
        let first = range.upperBound - length
        let text = try new.bytes(at: first, upTo: Int(length))
        var place = text.count - Self.separator.count
        while place >= 0 {
            if text[place] == Self.separator[0], text[place...].starts(with: Self.separator) { return first + UInt64(place) }
            place -= 1
        }
        return nil
    }
}
