import TestSupport
import Testing

@testable import PhotoData

/// Items of HEIF, in files that are made byte by byte.
struct HEIFItemsTests {
    private static let packet = Array("<x:xmpmeta/>".utf8)

    private func source(_ bytes: [UInt8]) -> VideoSource {
        VideoSource(byteCount: UInt64(bytes.count)) { offset, count in
            let start = Int(offset)
            return start + count <= bytes.count ? Array(bytes[start..<start + count]) : nil
        }
    }

    /// - Parameters:
    ///   - version: of the table of places.
    ///   - shift: added to the place of the packet.
    private func file(
        version: UInt8 = 0, type: String = "application/rdf+xml", shift: UInt32 = 0, length: UInt32 = 12,
        construction: UInt16 = 0,
        extentCount: UInt16 = 1
    ) -> [UInt8] {
        func number(_ value: some FixedWidthInteger) -> [UInt8] { CraftedVideo.number(value) }
        let start = CraftedVideo.box("ftyp", Array("heic".utf8) + number(UInt32(0)))
        func meta(_ place: UInt32) -> [UInt8] {
            let other = CraftedVideo.box("infe", [2, 0, 0, 0] + number(UInt16(1)) + number(UInt16(0)) + Array("hvc1\0".utf8))
            let entry = CraftedVideo.box(
                "infe", [2, 0, 0, 0] + number(UInt16(2)) + number(UInt16(0)) + Array("mimeXMP\0\(type)\0".utf8))
            let information = CraftedVideo.box("iinf", [0, 0, 0, 0] + number(UInt16(2)) + other + entry)
            func item(_ id: UInt16, _ offset: UInt32) -> [UInt8] {
                (version == 2 ? number(UInt32(id)) : number(id)) + (version == 0 ? [] : number(construction)) + number(UInt16(0))
                    + number(extentCount) + (0..<extentCount).flatMap { _ in number(offset) + number(length) }
            }
            let count = version == 2 ? number(UInt32(2)) : number(UInt16(2))
            let places = CraftedVideo.box("iloc", [version, 0, 0, 0, 0x44, 0] + count + item(1, 0) + item(2, place))
            return CraftedVideo.box("meta", [0, 0, 0, 0] + information + places)
        }
        let place = UInt32(start.count + meta(0).count + 8) &+ shift
        return start + meta(place) + CraftedVideo.box("mdat", Self.packet)
    }

    @Test(arguments: [0, 1, 2] as [UInt8])
    func `the packet is found in each version of the table`(version: UInt8) {
        #expect(HEIFItems.xmpPacket(in: source(file(version: version))) == Self.packet)
    }

    @Test func `what is not plain is left alone`() {
        let files = [
            file(type: "text/plain"), file(shift: 1), file(shift: 0x7FFF_0000), file(length: 13), file(length: .max),
            file(version: 1, construction: 1), file(extentCount: 0), file(extentCount: 2), file(version: 3), [],
            CraftedVideo.iPhone,
        ]
        for bytes in files { #expect(HEIFItems.xmpPacket(in: source(bytes)) == nil) }
    }

    @Test func `no cut and no change of a byte leads out of the file`() {
        let whole = file(version: 1)
        for index in whole.indices {
            _ = HEIFItems.xmpPacket(in: source(Array(whole[..<index])))
            for value: UInt8 in [0, 1, 0x44, 0x88, 0x7F, 0x80, 0xFF] {
                var changed = whole
                changed[index] = value
                _ = HEIFItems.xmpPacket(in: source(changed))
            }
        }
    }
}
