import BackupCore
import Formats
import Synchronization
import TestSupport
import Testing

@Suite("Comparing collections that have much in common")
struct CommonRangesTests {
    /// A source that tells how much of it was read.
    private final class CountingSource: ByteSource {
        private let source: MemorySource
        private let count = Mutex(0)
        var readByteCount: Int { count.withLock { $0 } }

        init(_ text: String) { source = MemorySource(text) }

        func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
            let read = try source.read(at: offset, into: buffer)
            count.withLock { $0 += read }
            return read
        }
    }

    /// As exports are written. The notes have in them, escaped, what stands between records.
    private func collection(_ records: [(id: Int, note: String)]) -> String {
        let texts = records.map { "\n    {\n      \"id\": \($0.id),\n      \"note\": \"\($0.note),\\n    {\"\n    }" }
        return "[" + texts.joined(separator: ",") + (records.isEmpty ? "]" : "\n  ]")
    }

    /// Blocks of the old text, at multiples of a length, that stand in the new one too, and at any place: what chunks would find.
    private func commonRanges(_ old: String, _ new: String, blockLength: Int) -> [CommonRange] {
        let before = Array(old.utf8)
        let after = Array(new.utf8)
        var ranges: [CommonRange] = []
        var from = 0
        for start in stride(from: 0, to: before.count - blockLength, by: blockLength) {
            let block = before[start..<(start + blockLength)]
            let places = max(from, start - 500)...max(from, start + 500)
            guard
                let place = places.first(where: {
                    $0 + blockLength <= after.count && after[$0] == block.first && after[$0...].starts(with: block)
                })
            else { continue }
            from = place + blockLength
            if let last = ranges.last, last.oldEnd == UInt64(start), last.newEnd == UInt64(place) {
                ranges[ranges.count - 1] = CommonRange(
                    oldStart: last.oldStart, newStart: last.newStart, length: last.length + UInt64(blockLength))
            } else {
                ranges.append(CommonRange(oldStart: UInt64(start), newStart: UInt64(place), length: UInt64(blockLength)))
            }
        }
        return ranges
    }

    @Test("they are found changed as without, and most of them is not read", arguments: [64, 500, 4_000])
    func skipping(_ blockLength: Int) throws {
        let records = (1...5_000).map { (id: $0 * 2, note: "note number \($0 * 7919 % 104_729)") }
        var changed = records
        changed[0].note = "the first"
        changed[1_200].note = ""
        changed[1_201].note = "both of two neighbours"
        changed[4_999].note += "!"
        changed.insert((id: 2_001, note: "between 2000 and 2002"), at: 1_000)
        changed.append((id: 20_000, note: "the last"))
        changed.removeAll { $0.id == 7_000 || $0.id == 7_002 }
        let (old, new) = (CountingSource(collection(records)), CountingSource(collection(changed)))
        let ranges = commonRanges(collection(records), collection(changed), blockLength: blockLength)
        #expect(ranges.reduce(0) { $0 + $1.length } > 300_000)
        let result = try CollectionComparison.compare(old: old, new: new, key: "id", commonRanges: ranges)
        #expect(result.changed.keys == [.integer(2), .integer(2_402), .integer(2_404), .integer(10_000)])
        #expect(result.added.keys == [.integer(2_001), .integer(20_000)])
        #expect(result.removed.keys == [.integer(7_000), .integer(7_002)])
        // Of 740 kilobytes.
        #expect(old.readByteCount + new.readByteCount < 400_000)
    }

    @Test("a common range that begins or ends inside a record does not hide a change of that record")
    func edges() throws {
        let old = collection((1...40).map { (id: $0, note: "same") })
        for id in 1...40 {
            let new = collection((1...40).map { (id: $0, note: $0 == id ? "diff" : "same") })
            let place = try #require(new.firstRange(of: "diff")).lowerBound.utf16Offset(in: new)
            let ranges = [
                CommonRange(oldStart: 0, newStart: 0, length: UInt64(place)),
                CommonRange(
                    oldStart: UInt64(place + 4), newStart: UInt64(place + 4), length: UInt64(new.utf8.count - place - 4)),
            ]
            let result = try CollectionComparison.compare(
                old: MemorySource(old), new: MemorySource(new), key: "id", commonRanges: ranges)
            #expect(result.changed.keys == [.integer(Int64(id))])
            #expect(result.added.count == 0 && result.removed.count == 0)
        }
    }

    @Test("a collection without line feeds is read through")
    func compact() throws {
        let old = #"[{"id":1,"a":1},{"id":2},{"id":3}]"#
        let new = #"[{"id":1,"a":1},{"id":2},{"id":4}]"#
        let ranges = [CommonRange(oldStart: 0, newStart: 0, length: 30)]
        let result = try CollectionComparison.compare(
            old: MemorySource(old), new: MemorySource(new), key: "id", commonRanges: ranges)
        #expect(result.added.keys == [.integer(4)])
        #expect(result.removed.keys == [.integer(3)])
    }
}
