import BackupCore
import SystemIO

/// An archive that is made from a description of a few bytes, with all lengths and checksums right unless the description says
/// otherwise: a change of a byte then gets past the signatures and sums, where it would end in an archive's own bytes.
///
/// The description is a byte for the end of the archive and one entry after the other (`CraftedEntry`). A file `SHA256SUMS`
/// without content gets the sums of all files before it.
struct CraftedZIP {
    private static let entryLimit = 40

    private var data: [UInt8] = []
    private var central: [UInt8] = []
    private var count: UInt64 = 0
    private var sums = ""

    static func archive(_ description: [UInt8]) -> [UInt8] {
        var feed = FuzzFeed(description)
        var archive = CraftedZIP()
        let end = feed.byte()
        while !feed.isAtEnd, archive.count < entryLimit { archive.append(CraftedEntry(&feed)) }
        return archive.finish(end)
    }

    private mutating func append(_ entry: CraftedEntry) {
        var entry = entry
        if entry.name == Array("SHA256SUMS".utf8), entry.content.isEmpty { entry.content = Array(sums.utf8) }
        if entry.name.last != UInt8(ascii: "/"), let name = String(validating: entry.name, as: UTF8.self) {
            sums += "\(SHA256Hasher.hash(entry.content).hexadecimal)  \(name)\n"
        }
        let (local, record) = entry.encoded(at: UInt64(data.count))
        data += local
        central += record
        count += 1
    }

    /// - Parameter end: bits 0 to 2: a ZIP64 record, a comment, something behind the directory; bits 4 to 7: which number is
    ///   wrong.
    private func finish(_ end: UInt8) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: data)
        if end & 4 != 0 { writer.append(raw: [0x50, 0x4B, 3, 4]) }
        let offset = UInt64(writer.bytes.count)
        writer.append(raw: central)
        let wrong = end >> 4
        func number(_ value: UInt64, _ position: UInt8) -> UInt64 { wrong == position ? value &+ 1 : value }
        let isLarge = end & 1 != 0
        let size = UInt64(central.count)
        if isLarge {
            let position = UInt64(writer.bytes.count)
            writer.append(0x0606_4B50 as UInt32)
            writer.append(number(44, 1))
            writer.append(45 as UInt16)
            writer.append(45 as UInt16)
            writer.append(UInt32(truncatingIfNeeded: number(0, 2)))
            writer.append(0 as UInt32)
            for value in [number(count, 3), number(count, 4), number(size, 5), number(offset, 6)] { writer.append(value) }
            writer.append(0x0706_4B50 as UInt32)
            writer.append(0 as UInt32)
            writer.append(number(position, 7))
            writer.append(1 as UInt32)
        }
        let isShort = isLarge && end & 8 == 0
        writer.append(0x0605_4B50 as UInt32)
        writer.append(UInt16(truncatingIfNeeded: number(0, 8)))
        writer.append(0 as UInt16)
        for position: UInt8 in [9, 10] {
            writer.append(isShort ? 0xFFFF : UInt16(truncatingIfNeeded: number(count, position)))
        }
        writer.append(isShort ? 0xFFFF_FFFF : UInt32(truncatingIfNeeded: number(size, 11)))
        writer.append(isShort ? 0xFFFF_FFFF : UInt32(truncatingIfNeeded: number(offset, 12)))
        let comment = end & 2 != 0 ? Array("comment".utf8) : []
        writer.append(UInt16(truncatingIfNeeded: number(UInt64(comment.count), 13)))
        writer.append(raw: comment)
        return writer.bytes
    }
}
