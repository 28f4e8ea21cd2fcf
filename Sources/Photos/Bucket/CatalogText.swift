import BackupCore
import Formats
import SystemIO

/// The lines of a catalog as they were read. A catalog of 100,000 photos has 46 MB, of which a run needs a few lines: they stay
/// text, and each is parsed when it is asked for. Every line was parsed once, so that damage is noticed.
struct CatalogText: Sendable, Equatable {
    private struct Line {
        let start: UInt32
        /// Without the newline.
        let count: UInt32

        var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
    }

    private static let newline = UInt8(ascii: "\n")

    /// All lines, each with a newline.
    private(set) var bytes: [UInt8] = []
    /// In the order of the text.
    private var starts: [UInt32] = []
    private var lines: [MD5Digest: Line] = [:]

    init() {}

    /// - Parameter again: receives entries of contents that had a line before; those lines are left out of the text.
    /// - Throws: `damagedContent` when a line is none.
    init(_ text: [UInt8], path: String, again: (CatalogEntry) -> Void) throws(BackupError) {
        bytes = text
        if let last = text.last, last != Self.newline { bytes.append(Self.newline) }
        // Lines of this program have some 450 bytes.
        lines.reserveCapacity(bytes.count / 400)
        starts.reserveCapacity(bytes.count / 400)
        var repeated: [Range<Int>] = []
        var number = 0
        var start = 0
        while start < bytes.count, let end = bytes[start...].firstIndex(of: Self.newline) {
            defer { start = end + 1 }
            number += 1
            guard end > start else { continue }
            guard let entry = Self.entry(bytes[start..<end]), let digest = MD5Digest(hexadecimal: entry.md5) else {
                throw BackupError(
                    .damagedContent, "line \(number) of the catalog of photos is damaged", path: path,
                    remedy: "Make the catalog again from what is in the bucket: backupfs star --rebuild-catalog")
            }
            if lines[digest] != nil {
                again(entry)
                repeated.append(start..<end + 1)
                continue
            }
            // The limit of a catalog is below 4 GB.
            lines[digest] = Line(start: UInt32(start), count: UInt32(end - start))
            starts.append(UInt32(start))
        }
        guard !repeated.isEmpty else { return }
        self = try without(repeated, path)
    }

    /// Rare: another program has written a line of a content that had one.
    private func without(_ ranges: [Range<Int>], _ path: String) throws(BackupError) -> CatalogText {
        var rest: [UInt8] = []
        var start = 0
        for range in ranges {
            rest += bytes[start..<range.lowerBound]
            start = range.upperBound
        }
        return try CatalogText(rest + bytes[start...], path: path) { _ in }
    }

    static func == (one: CatalogText, other: CatalogText) -> Bool { one.bytes == other.bytes }

    /// The number of contents.
    var count: Int { starts.count }

    static func entry(_ line: ArraySlice<UInt8>) -> CatalogEntry? { OrderedJSON(parsing: line).flatMap { CatalogEntry($0) } }

    private func line(of md5: String) -> Line? { MD5Digest(hexadecimal: md5).flatMap { lines[$0] } }

    func has(_ md5: String) -> Bool { line(of: md5) != nil }

    func entry(_ md5: String) -> CatalogEntry? { line(of: md5).flatMap { Self.entry(bytes[$0.range]) } }

    /// In the order of the text.
    func forEach(_ body: (CatalogEntry) -> Void) {
        for start in starts {
            let start = Int(start)
            guard let end = bytes[start...].firstIndex(of: Self.newline), let entry = Self.entry(bytes[start..<end]) else {
                continue
            }
            body(entry)
        }
    }

    /// Whether this text has all contents of another one.
    func hasAll(of other: CatalogText) -> Bool { self == other || other.lines.keys.allSatisfy { lines[$0] != nil } }

    /// Entries of another text whose lines are not the same here.
    func forEachOther(of other: CatalogText, _ body: (CatalogEntry) -> Void) {
        for (digest, line) in other.lines {
            if let own = lines[digest], bytes[own.range].elementsEqual(other.bytes[line.range]) { continue }
            if let entry = Self.entry(other.bytes[line.range]) { body(entry) }
        }
    }

    // MARK: Writing

    /// This text with other lines in place of those of the same contents, and new ones at their places.
    func encoded(with changes: some Sequence<CatalogEntry>) -> [UInt8] {
        var edits: [(range: Range<Int>, line: [UInt8], key: String)] = changes.map { entry in
            let key = entry.key.text
            let own = line(of: entry.md5)?.range
            let place = own.map { $0.lowerBound..<$0.upperBound + 1 } ?? self.place(of: key)
            return (place, entry.json.compactText + [Self.newline], key)
        }
        // What is added before a line, then the line.
        edits.sort { ($0.range.lowerBound, $0.range.count, $0.key) < ($1.range.lowerBound, $1.range.count, $1.key) }
        var output: [UInt8] = []
        output.reserveCapacity(edits.reduce(bytes.count) { $0 + $1.line.count })
        var start = 0
        for edit in edits {
            output += bytes[start..<edit.range.lowerBound]
            output += edit.line
            start = edit.range.upperBound
        }
        return output + bytes[start...]
    }

    /// Where the line of a new key belongs: lines have the order of their keys.
    private func place(of key: String) -> Range<Int> {
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            let start = Int(starts[middle])
            let end = bytes[start...].firstIndex(of: Self.newline) ?? bytes.count
            if let there = Self.entry(bytes[start..<end])?.key.text, there < key { low = middle + 1 } else { high = middle }
        }
        let start = low < starts.count ? Int(starts[low]) : bytes.count
        return start..<start
    }

    // MARK: Searching

    /// Where contents are, without a look at the other lines: the copies of some photos are looked for among those of all.
    static func keys(of contents: Set<SHA256Digest>, in text: [UInt8]) -> [SHA256Digest: PhotoKey] {
        let mark = Array("\"sha256\":\"".utf8)
        var keys: [SHA256Digest: PhotoKey] = [:]
        for line in text.split(separator: newline) {
            // It is the last member that this program knows: the rest is that of later versions.
            var index = line.endIndex - mark.count
            while index >= line.startIndex, !(line[index] == mark[0] && line[index...].starts(with: mark)) { index -= 1 }
            guard index >= line.startIndex,
                let sha256 = SHA256Digest(
                    hexadecimal: String(decoding: line[(index + mark.count)...].prefix(64), as: UTF8.self)),
                contents.contains(sha256), let entry = entry(line), entry.sha256 == sha256
            else { continue }
            keys[sha256] = entry.key
        }
        return keys
    }
}
