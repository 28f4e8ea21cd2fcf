/// A tar archive that is made from a description of a few bytes, with all checksums right unless the description says otherwise:
/// a change of a byte then gets past them.
///
/// The description is one header after the other: a byte for its kind, one for what is wrong with it, the lengths of name, link
/// and content, and these.
enum CraftedTAR {
    private static let headerLimit = 40
    private static let kinds: [UInt8] = Array("00005522xLKgS13".utf8)

    static func archive(_ description: [UInt8]) -> [UInt8] {
        var feed = FuzzFeed(description)
        var archive: [UInt8] = []
        var count = 0
        let end = feed.byte()
        while !feed.isAtEnd, count < headerLimit {
            append(&feed, to: &archive)
            count += 1
        }
        // Two blocks of zeros, unless it says otherwise, and something behind them.
        archive += [UInt8](repeating: 0, count: 512 * Int(2 - min(2, end & 3)) + (end & 4 != 0 ? 0 : 512 * Int(end >> 5)))
        if end & 8 != 0 { archive.append(1) }
        return archive
    }

    private static func append(_ feed: inout FuzzFeed, to archive: inout [UInt8]) {
        let kind = kinds[Int(feed.byte()) % kinds.count]
        let fault = feed.byte()
        let name = feed.bytes(Int(feed.byte()) % 101)
        let link = kind == UInt8(ascii: "2") || kind == UInt8(ascii: "1") ? feed.bytes(Int(feed.byte()) % 101) : []
        var content = feed.bytes(Int(feed.byte()) * (fault & 1 == 0 ? 1 : 8))
        if kind == UInt8(ascii: "x") || kind == UInt8(ascii: "g"), fault & 2 == 0 { content = records(content) }
        let isEmpty = [UInt8(ascii: "5"), UInt8(ascii: "2"), UInt8(ascii: "1")].contains(kind) && fault & 2 == 0
        if isEmpty { content = [] }
        var block = [UInt8](repeating: 0, count: 512)
        func put(_ text: [UInt8], at start: Int) { block.replaceSubrange(start..<start + text.count, with: text) }
        put(name, at: 0)
        put(octal(fault & 4 != 0 ? 0o777_7777 : 0o644, 8), at: 100)
        put(octal(0, 8), at: 108)
        put(octal(0, 8), at: 116)
        put(octal(content.count + (fault & 8 != 0 ? 1 : 0), 12), at: 124)
        if fault & 16 != 0 { put([0x80], at: 124) }
        put(octal(1_719_837_296, 12), at: 136)
        put([UInt8](repeating: 32, count: 8), at: 148)
        block[156] = kind
        put(link, at: 157)
        put(Array((fault & 32 != 0 ? "ustar  \u{0}" : "ustar\u{0}00").utf8), at: 257)
        if fault & 64 != 0 { put(Array("media".utf8), at: 345) }
        let sum = block.reduce(0) { $0 + Int($1) } + (fault & 128 != 0 ? 1 : 0)
        put(octal(sum, 7) + [32], at: 148)
        archive += block + content + [UInt8](repeating: 0, count: (512 - content.count % 512) % 512)
    }

    private static func octal(_ value: Int, _ width: Int) -> [UInt8] {
        let digits = Array(String(value, radix: 8).utf8).suffix(width - 1)
        return [UInt8](repeating: 48, count: width - 1 - digits.count) + digits + [0]
    }

    /// Records of an extended header with the right lengths: each line of the text is one.
    private static func records(_ text: [UInt8]) -> [UInt8] {
        text.split(separator: 10).flatMap { line -> [UInt8] in
            let rest = line.count + 2
            var length = rest + String(rest).utf8.count
            length = rest + String(length).utf8.count
            return Array("\(length) ".utf8) + line + [10]
        }
    }
}
