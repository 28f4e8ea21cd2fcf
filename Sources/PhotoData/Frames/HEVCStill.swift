/// A picture of HEVC as a photo: a HEIC (ISO 23008-12) with nothing but that picture, which the decoder of photos takes.
enum HEVCStill {
    /// Before the first of the parameter sets.
    private static let headerByteCount = 23
    /// Slices, and sets for the stream, the sequence and pictures: not what is beside the pictures.
    private static let slices: ClosedRange<UInt8> = 0...31
    private static let sets: ClosedRange<UInt8> = 32...34

    /// - Parameters:
    ///   - configuration: the content of `hvcC`.
    ///   - picture: as it lies in the clip.
    static func heic(_ configuration: [UInt8], picture: [UInt8], _ entry: SampleEntry) throws(VideoError) -> [UInt8] {
        guard configuration.count >= headerByteCount, configuration[0] == 1 else { throw .damaged }
        let units = try CodedUnits.split(picture, lengthByteCount: Int(configuration[21] & 3) + 1).filter { unit in
            let kind = unit[unit.startIndex] >> 1 & 0x3F
            return slices.contains(kind) || sets.contains(kind)
        }
        // Lengths of four bytes, since libheif knows no others.
        let data = units.flatMap { number(UInt32($0.count)) + $0 }
        var properties = configuration
        properties[21] |= 3
        let type = box("ftyp", Array("heic".utf8) + number(UInt32(0)) + Array("mif1heic".utf8))
        // The place of the picture takes as many bytes whatever it is.
        let metaByteCount = meta(properties, entry, offset: 0, count: data.count).count
        let offset = type.count + metaByteCount + 8
        return type + meta(properties, entry, offset: offset, count: data.count) + box("mdat", data)
    }

    private static func meta(_ properties: [UInt8], _ entry: SampleEntry, offset: Int, count: Int) -> [UInt8] {
        let handler = box("hdlr", number(UInt32(0)) + number(UInt32(0)) + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
        let primary = box("pitm", number(UInt32(0)) + number(UInt16(1)))
        // Of version 2: the item, no protection, its kind, no name.
        let item = box("infe", [2, 0, 0, 0] + number(UInt16(1)) + number(UInt16(0)) + Array("hvc1".utf8) + [0])
        let items = box("iinf", number(UInt32(0)) + number(UInt16(1)) + item)
        var described = [
            box("hvcC", properties),
            box("ispe", number(UInt32(0)) + number(UInt32(entry.width)) + number(UInt32(entry.height))),
        ]
        // Without it, what the stream says counts.
        if let colours = entry.colourNumbers, colours.count >= 11, colours.starts(with: PhotoBox.type("nclx")) {
            described.append(box("colr", Array(colours[..<11])))
        }
        // The first one must be understood.
        let numbers = described.indices.map { UInt8($0 + 1) | ($0 == 0 ? 0x80 : 0) }
        let association = box(
            "ipma", number(UInt32(0)) + number(UInt32(1)) + number(UInt16(1)) + [UInt8(numbers.count)] + numbers)
        // Numbers of four bytes; one item, in this file, as a whole.
        let place = box(
            "iloc",
            number(UInt32(0)) + [0x44, 0] + number(UInt16(1)) + number(UInt16(1)) + number(UInt16(0)) + number(UInt16(1))
                + number(UInt32(offset)) + number(UInt32(count)))
        let all = handler + primary + items + box("iprp", box("ipco", described.flatMap { $0 }) + association) + place
        return box("meta", number(UInt32(0)) + all)
    }

    private static func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
        number(UInt32(8 + content.count)) + PhotoBox.type(name) + content
    }

    private static func number(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
}
