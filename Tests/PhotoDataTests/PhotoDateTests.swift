import Testing

@testable import PhotoData

/// Times on a wall clock, and their zones.
struct PhotoDateTests {
    @Test(arguments: [
        ("2024:05:06 07:08:09", "2024-05-06T07:08:09"), ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09+00:00"),
        ("2024-05-06T07:08:09.25+02:00", "2024-05-06T07:08:09.25+02:00"),
        ("2024-05-06T07:08:09-0330", "2024-05-06T07:08:09-03:30"),
        ("2024:02:29 23:59:59\0", "2024-02-29T23:59:59"), ("2024-05-06", "2024-05-06T00:00:00"),
        ("2024-05-06T07:08", "2024-05-06T07:08:00"), ("2024/05/06 07:08:09   ", "2024-05-06T07:08:09"),
        ("0001:01:01 00:00:00", "0001-01-01T00:00:00"), ("9999:12:31 23:59:59", "9999-12-31T23:59:59"),
    ])
    func `a date is what the clock showed`(text: String, expected: String) {
        #expect(PhotoDate(parsing: text)?.text == expected)
    }

    @Test(arguments: [
        "0000:00:00 00:00:00", "    :  :     :  :  ", "", " ", "2024:13:01 00:00:00", "2024:02:30 00:00:00",
        "2023:02:29 00:00:00",
        "2024:00:10 00:00:00", "2024:01:00 00:00:00", "2024:01:01 24:00:00", "2024:01:01 00:60:00", "2024:01:01 00:00:61",
        "2024", "2024:05", "24:05:06 07:08:09", "2024:05:06 07:08:09 nonsense", "2024:05:06 07:08:09+25:00",
        "2024:05:06 07", "2024:05:06X07:08:09", "-024:05:06 07:08:09", "２０２４:05:06 07:08:09",
    ])
    func `what no calendar or clock has is no date`(text: String) {
        #expect(PhotoDate(parsing: text) == nil)
    }

    @Test(
        arguments: [
            ("+02:00", 120), ("-05:30", -330), ("Z", 0), ("+1400", 840), ("-14:00", -840), ("+00:00", 0),
            ("+15:00", nil), ("+02:60", nil), ("02:00", nil), ("   :  ", nil), ("", nil), ("+2:00", nil), ("+02:00x", nil),
        ] as [(String, Int?)])
    func `offsets`(text: String, expected: Int?) {
        let date = PhotoDate(parsing: "2024:05:06 07:08:09", offset: text)
        #expect(date != nil && date?.offsetMinutes == expected)
    }

    @Test(
        arguments: [
            ("25", 250_000_000), ("005", 5_000_000), ("123456789123", 123_456_789), ("7  ", 700_000_000), ("", nil), ("x", nil),
        ] as [(String, UInt32?)])
    func `subseconds are the digits after the point`(text: String, expected: UInt32?) {
        #expect(PhotoDate(parsing: "2024:05:06 07:08:09", subseconds: text)?.nanoseconds == expected)
    }

    @Test func `seconds in UTC`() {
        #expect(PhotoDate(utcSeconds: 1_714_979_289)?.text == "2024-05-06T07:08:09+00:00")
        #expect(PhotoDate(utcSeconds: .max) == nil && PhotoDate(utcSeconds: .min) == nil)
    }
}

/// Places on the Earth.
struct PhotoPlaceTests {
    @Test(
        arguments: [
            ("48/1 30/1 0/1", "N", 48.5), ("48/1 30/1 0/1", "S", -48.5), ("48/1 30/1 0/1", "s", -48.5),
            ("48/1 30/1 0/1", nil, 48.5),
            ("48/1 3030/100 0/0", "N", 48.505), ("485/10", "S", -48.5), ("90/1 0/1 0/1", "N", 90), ("0/1 0/1 36/1", "S", -0.01),
            ("91/1 0/1 0/1", "N", nil), ("90/1 0/1 1/1", "N", nil), ("48/1 30/1 0/1", "E", nil), ("48/0 30/1 0/1", "N", nil),
            ("-48/1 30/1 0/1", "N", nil), ("nonsense", "N", nil), ("", "N", nil), ("1/1 1/1 1/1 1/1", "N", nil),
        ] as [(String, String?, Double?)])
    func `latitudes of Exif`(text: String, reference: String?, expected: Double?) {
        let found = PhotoPlace.degrees(text, reference: reference, letters: ("N", "S"), limit: 90)
        #expect(found == nil && expected == nil || abs((found ?? 1e9) - (expected ?? -1e9)) <= 5.1e-8)
    }

    @Test(
        arguments: [
            ("48,30.5N", 48.508333333333333), ("48,30,30S", -48.508333333333333), ("48.5", nil), ("N", nil), ("95,0N", nil),
            ("48,nanN", nil),
        ] as [(String, Double?)])
    func `latitudes of XMP`(text: String, expected: Double?) {
        let found = PhotoPlace.xmpDegrees(text, letters: ("N", "S"), limit: 90)
        #expect(found == nil && expected == nil || abs((found ?? 1e9) - (expected ?? -1e9)) <= 5.1e-8)
    }

    @Test(
        arguments: [
            ("+48.8584+002.2945+035.000/", [48.8584, 2.2945, 35]), ("-33.8568+151.2153/", [-33.8568, 151.2153]),
            ("+4830-00130/", [48.5, -1.5]), ("+483030.0-0013030/", [48.508333333333333, -1.5083333333333333]),
            ("+91+000/", []), ("+48/", []), ("nonsense", []), ("", []), ("+1+2+3+4/", []), ("+4.8.8+2/", []),
        ] as [(String, [Double])])
    func `places of videos`(text: String, expected: [Double]) {
        let found = PhotoPlace.iso6709(text)
        let numbers = found.map { [$0.latitude, $0.longitude] + ($0.altitude.map { [$0] } ?? []) } ?? []
        #expect(numbers.count == expected.count && zip(numbers, expected).allSatisfy { abs($0 - $1) <= 5.1e-8 }, "\(numbers)")
    }
}

/// The maker note of iPhones.
struct AppleMakerNoteTests {
    private static let identifier = "4F5A8C1E-0000-4000-8000-1234567890AB"

    /// A note with one entry of another kind before the identifier.
    static func note(isBigEndian: Bool = true, offset: UInt32 = 40, count: UInt32 = 37) -> [UInt8] {
        func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: isBigEndian ? value.bigEndian : value.littleEndian) { Array($0) }
        }
        var note = Array("Apple iOS\0\0\u{1}".utf8) + Array((isBigEndian ? "MM" : "II").utf8) + bytes(UInt16(2))
        note += bytes(UInt16(1)) + bytes(UInt16(9)) + bytes(UInt32(1)) + bytes(UInt32(14))
        note += bytes(UInt16(0x11)) + bytes(UInt16(2)) + bytes(count) + bytes(offset)
        return note + Array(identifier.utf8) + [0]
    }

    @Test(arguments: [true, false])
    func `has the identifier of a live photo`(isBigEndian: Bool) {
        #expect(AppleMakerNote.livePhotoIdentifier(Self.note(isBigEndian: isBigEndian)) == Self.identifier)
    }

    @Test func `positions that lead out of it are refused`() {
        for (offset, count) in [(41, 37), (40, 38), (UInt32.max, 37), (40, UInt32.max), (40, 0), (40, 4)] as [(UInt32, UInt32)] {
            #expect(AppleMakerNote.livePhotoIdentifier(Self.note(offset: offset, count: count)) == nil)
        }
        let whole = Self.note()
        for count in whole.indices { #expect(AppleMakerNote.livePhotoIdentifier(Array(whole[..<count])) == nil) }
        #expect(AppleMakerNote.livePhotoIdentifier(Array("Nikon\0".utf8) + whole) == nil)
    }

    @Test func `no change of a bit makes it read outside`() {
        let whole = Self.note()
        for bit in 0..<whole.count * 8 {
            var changed = whole
            changed[bit / 8] ^= 1 << (bit % 8)
            _ = AppleMakerNote.livePhotoIdentifier(changed)
        }
    }
}
