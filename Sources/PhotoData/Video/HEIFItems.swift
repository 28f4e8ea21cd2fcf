/// The XMP of HEIC and AVIF, which exiv2 0.27 does not find, and their Exif, which it finds only in some files: items of `meta`
/// whose bytes are somewhere in the file (ISO 14496-12, 8.11). Everything that is not plain is left alone.
public enum HEIFItems {
    private static let tableLimitBytes = 1 << 20
    private static let itemLimit = 65_536
    private static let contentLimitBytes: UInt64 = 1 << 20
    private static let packetType = "application/rdf+xml"

    /// The packet of XMP.
    /// - Returns: `nil` for a file without one, and for one whose tables are not as they should be.
    public static func xmpPacket(in source: VideoSource) -> [UInt8]? {
        // A name, and the type of the content.
        let packet = content(in: source) { type, texts in
            let texts = texts.split(separator: 0, omittingEmptySubsequences: false)
            return type == "mime" && texts.count >= 2 && texts[1].elementsEqual(packetType.utf8)
        }
        guard let packet else { return nil }
        // By its first bytes, as other decoders would look at it: anything else is none of ours.
        let text = packet.starts(with: [0xEF, 0xBB, 0xBF]) ? packet.dropFirst(3) : packet[...]
        return text.starts(with: Array("<?xpacket".utf8)) || text.starts(with: Array("<x:xmpmeta".utf8)) ? packet : nil
    }

    /// The Exif, as a TIFF.
    /// - Returns: `nil` as for `xmpPacket`.
    public static func exif(in source: VideoSource) -> [UInt8]? {
        guard let block = content(in: source, { type, _ in type == "Exif" }), block.count >= 4 else { return nil }
        // How many bytes, `Exif\0\0` mostly, come before the TIFF.
        let skipped = BoxReader.number(block[..<4])
        guard skipped < UInt64(block.count - 4) else { return nil }
        let tiff = Array(block[(4 + Int(skipped))...])
        return tiff.starts(with: [0x49, 0x49, 0x2A, 0]) || tiff.starts(with: [0x4D, 0x4D, 0, 0x2A]) ? tiff : nil
    }

    /// The content of the first item that is wanted.
    /// - Parameter isWanted: gets the item's type and what follows it.
    private static func content(
        in source: VideoSource, _ isWanted: (_ type: String, _ texts: ArraySlice<UInt8>) -> Bool
    ) -> [UInt8]? {
        do throws(VideoError) {
            var reader = BoxReader(source)
            var meta: Box?
            try reader.forEach(in: 0..<source.byteCount, isTop: true) { box throws(VideoError) in
                if box.isOf("meta") { meta = box }
                return meta == nil
            }
            guard let meta, meta.content.count >= 4 else { return nil }
            var information: Box?
            var locations: Box?
            // After its version.
            try reader.forEach(in: meta.content.lowerBound + 4..<meta.content.upperBound) { box throws(VideoError) in
                if box.isOf("iinf") { information = information ?? box }
                if box.isOf("iloc") { locations = locations ?? box }
                return true
            }
            guard let information, let locations, let item = try item(information, &reader, isWanted) else { return nil }
            return try bytes(of: item, reader.content(of: locations, limit: tableLimitBytes), reader)
        } catch {
            return nil
        }
    }

    /// The number of the first item that is wanted.
    private static func item(
        _ box: Box, _ reader: inout BoxReader, _ isWanted: (_ type: String, _ texts: ArraySlice<UInt8>) -> Bool
    ) throws(VideoError) -> UInt64? {
        guard box.content.count >= 8 else { return nil }
        let version = try reader.source.read(at: box.content.lowerBound, count: 1)[0]
        var entries: [Box] = []
        try reader.forEach(in: box.content.lowerBound + (version == 0 ? 6 : 8)..<box.content.upperBound) {
            entry throws(VideoError) in
            guard entries.count < itemLimit else { throw .damaged }
            entries.append(entry)
            return true
        }
        for entry in entries where entry.isOf("infe") && entry.content.count <= 1024 {
            let bytes = try reader.content(of: entry, limit: 1024)
            // Version 2 has numbers of 16 bits, 3 of 32; before them there were no types.
            guard bytes.count >= 12, bytes[0] == 2 || bytes[0] == 3 else { continue }
            let width = bytes[0] == 2 ? 2 : 4
            let number = try BoxReader.number(bytes, at: 4, width)
            let type = 4 + width + 2
            guard bytes.count >= type + 4 else { continue }
            if isWanted(PhotoText.decoded(bytes[type..<type + 4]), bytes[(type + 4)...]) { return number }
        }
        return nil
    }

    /// The bytes of an item that lies in the file as a whole.
    private static func bytes(of item: UInt64, _ table: [UInt8], _ reader: BoxReader) throws(VideoError) -> [UInt8]? {
        guard let version = table.first, version <= 2 else { return nil }
        let sizes = try BoxReader.number(table, at: 4, 2)
        let (offsetWidth, lengthWidth) = (Int(sizes >> 12), Int(sizes >> 8 & 15))
        let (baseWidth, indexWidth) = (Int(sizes >> 4 & 15), version == 0 ? 0 : Int(sizes & 15))
        guard [offsetWidth, lengthWidth, baseWidth, indexWidth].allSatisfy({ [0, 4, 8].contains($0) }) else { return nil }
        let numberWidth = version == 2 ? 4 : 2
        let count = try BoxReader.number(table, at: 6, numberWidth)
        var position = 6 + numberWidth
        for _ in 0..<count {
            let number = try BoxReader.number(table, at: position, numberWidth)
            position += numberWidth
            // Where it lies: 0 is the file.
            let construction = version == 0 ? 0 : try BoxReader.number(table, at: position, 2) & 15
            position += (version == 0 ? 0 : 2) + 2
            let base = try BoxReader.number(table, at: position, baseWidth)
            position += baseWidth
            let extentCount = Int(try BoxReader.number(table, at: position, 2))
            position += 2
            let extent = position + indexWidth
            position += extentCount * (indexWidth + offsetWidth + lengthWidth)
            guard number == item else { continue }
            guard extentCount == 1, construction == 0 else { return nil }
            let (offset, overflows) = base.addingReportingOverflow(try BoxReader.number(table, at: extent, offsetWidth))
            let length = try BoxReader.number(table, at: extent + offsetWidth, lengthWidth)
            guard !overflows, length <= contentLimitBytes else { return nil }
            return try reader.source.read(at: offset, count: Int(length))
        }
        return nil
    }
}
