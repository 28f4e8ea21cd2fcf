import BackupCore
import SystemIO
import Testing

@testable import CopyVerify

/// Lines of `results.jsonl` that are written directly.
struct RowTextTests {
    private static func row(_ number: Int) -> ResultRow {
        // Each kind of each member, in combinations that do not repeat soon.
        let paths = ["a", "DCIM/100/IMG_0001.JPG", "quote\"s", "back\\slash", "line\nfeed", "ü/ß", "tab\t", "del\u{7F}", ""]
        let times = [
            Timestamp(seconds: 0), Timestamp(seconds: -1, nanoseconds: 500_000_000),
            Timestamp(seconds: 1_768_141_800, nanoseconds: 1), Timestamp(seconds: .max), Timestamp(seconds: .min),
            Timestamp(seconds: 951_782_400, nanoseconds: 123_456_000),
        ]
        var row = ResultRow(
            path: Array(paths[number % paths.count].utf8), destination: number.isMultiple(of: 2) ? "/mnt/a" : "/mnt/\"b\"",
            size: number.isMultiple(of: 7) ? .max : UInt64(number), modificationTime: times[number % times.count],
            status: RowStatus.allCases[number % RowStatus.allCases.count])
        let bytes = Array("\(number)".utf8)
        if number % 3 > 0 { row.digests.sha256 = SHA256Hasher.hash(bytes) }
        if number % 4 == 1 { row.digests.md5 = MD5Hasher.hash(bytes) }
        if number % 5 == 1 { row.digests.sha1 = SHA1Hasher.hash(bytes) }
        if number % 11 == 1 { row.digests.c4 = SHA512Hasher.hash(bytes) }
        if number % 6 > 0 { row.readBack = number.isMultiple(of: 2) ? .direct : .dropped }
        if number % 13 == 1 { row.isLink = true }
        if number % 3 > 0 { row.hashedAt = times[(number / 2) % times.count] }
        if number % 17 == 1 { row.target = [255, 254] }
        if number % 5 > 0 { (row.targetInode, row.targetTime) = (UInt64.max - UInt64(number), times[(number / 3) % times.count]) }
        if number % 19 == 1 {
            row.error = BackupError(.inputOutput, "broken", path: "/mnt")
            row.isDropped = true
        }
        if number % 23 == 1 { row.path = [UInt8(ascii: "x"), 0xFF] }
        return row
    }

    @Test func `a row has the same line, however it is written`() {
        let now = Timestamp(seconds: 1_768_141_800, nanoseconds: 250_000_000)
        var text = RowText(recordedAt: now)
        var expected: [UInt8] = []
        for number in 0..<5_000 {
            let row = Self.row(number)
            text.add(row)
            expected += row.json(recordedAt: now).compactText + [10]
        }
        #expect(text.bytes == expected)
    }
}
