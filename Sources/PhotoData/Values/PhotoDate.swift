import BackupCore
import SystemIO

/// When a photo was taken, as a clock on the wall there showed it. Without an offset the zone is unknown, and stays so: the
/// time is never converted.
public struct PhotoDate: Sendable, Equatable {
    public let local: LocalDateTime
    /// Below 1,000,000,000; `nil` when the file has only whole seconds.
    public let nanoseconds: UInt32?
    /// How far the clock was ahead of UTC: -840 to 840.
    public let offsetMinutes: Int?

    /// Minutes that a zone can be ahead of UTC.
    public static let offsets = -840...840
    /// Those that have four digits.
    public static let years = 1...9999

    /// - Returns: `nil` for a day or time that does not exist, such as 2024-02-30.
    public init?(local: LocalDateTime, nanoseconds: UInt32? = nil, offsetMinutes: Int? = nil) {
        guard Self.years.contains(local.year), local.exists, nanoseconds ?? 0 < 1_000_000_000,
            Self.offsets.contains(offsetMinutes ?? 0)
        else { return nil }
        self.local = local
        self.nanoseconds = nanoseconds
        self.offsetMinutes = offsetMinutes
    }

    /// A time in UTC.
    /// - Returns: `nil` outside the years 1 to 9999.
    public init?(utcSeconds: Int64) {
        guard (-62_135_596_800...253_402_300_799).contains(utcSeconds) else { return nil }
        self.init(local: LocalDateTime(utc: Timestamp(seconds: utcSeconds, nanoseconds: 0)), offsetMinutes: 0)
    }

    /// `2024-05-06T07:08:09`, with `.25` and `+02:00` where they are known.
    public var text: String {
        func padded(_ value: Int, _ width: Int = 2) -> String { LocalDateTime.padded(value, width) }
        var text = "\(local.dateText)T\(local.timeText(":"))"
        if let nanoseconds {
            var digits = padded(Int(nanoseconds), 9)
            while digits.hasSuffix("0"), digits.utf8.count > 1 { digits.removeLast() }
            text += ".\(digits)"
        }
        if let offsetMinutes {
            let minutes = abs(offsetMinutes)
            text += "\(offsetMinutes < 0 ? "-" : "+")\(padded(minutes / 60)):\(padded(minutes % 60))"
        }
        return text
    }

    // MARK: Texts of files

    /// Reads `2024:05:06 07:08:09` (Exif) and `2024-05-06T07:08:09.25+02:00` (XMP, ISO 8601), also without the time of day.
    /// - Parameters:
    ///   - subseconds: digits after the point that Exif keeps in a tag of its own.
    ///   - offset: the zone that Exif keeps in a tag of its own.
    /// - Returns: `nil` for a date that does not exist: zeros, blanks, month 13.
    public init?(parsing text: String, subseconds: String? = nil, offset: String? = nil) {
        var scanner = DigitScanner(text)
        guard let year = scanner.number(4), scanner.skip(":-/"), let month = scanner.number(2), scanner.skip(":-/"),
            let day = scanner.number(2)
        else { return nil }
        var local = LocalDateTime(year: year, month: month, day: day)
        var ownSubseconds: String?
        var ownOffset: Int?
        if scanner.skip(" T") {
            guard let hour = scanner.number(2), scanner.skip(":"), let minute = scanner.number(2) else { return nil }
            (local.hour, local.minute) = (hour, minute)
            if scanner.skip(":") {
                guard let second = scanner.number(2) else { return nil }
                local.second = second
            }
            if scanner.skip(".,") { ownSubseconds = scanner.digits() }
            if !scanner.isAtEnd {
                guard let minutes = Self.offset(scanner.rest) else { return nil }
                ownOffset = minutes
            }
        }
        guard scanner.isAtEnd || ownOffset != nil else { return nil }
        self.init(
            local: local, nanoseconds: (ownSubseconds ?? subseconds).flatMap(Self.nanoseconds),
            offsetMinutes: ownOffset ?? offset.flatMap(Self.offset))
    }

    /// `+02:00`, `-0330`, `Z`.
    static func offset(_ text: String) -> Int? {
        if text == "Z" { return 0 }
        let sign = text.hasPrefix("-") ? -1 : 1
        guard text.hasPrefix("+") || text.hasPrefix("-") else { return nil }
        var scanner = DigitScanner(String(text.dropFirst()))
        guard let hours = scanner.number(2) else { return nil }
        _ = scanner.skip(":")
        guard let minutes = scanner.number(2), scanner.isAtEnd, minutes < 60 else { return nil }
        let offset = sign * (hours * 60 + minutes)
        return offsets.contains(offset) ? offset : nil
    }

    /// The digits after the point: `25` is a quarter of a second.
    static func nanoseconds(_ text: String) -> UInt32? {
        let digits = text.utf8.filter { $0 != UInt8(ascii: " ") && $0 != 0 }
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return (0..<9).reduce(UInt32(0)) { sum, place in sum * 10 + (place < digits.count ? UInt32(digits[place] - 0x30) : 0) }
    }
}

/// Reads ASCII digits and separators from the start of a text. Blanks and zero bytes at its end do not count.
struct DigitScanner {
    private var bytes: ArraySlice<UInt8>

    init(_ text: String) {
        bytes = Array(text.utf8)[...]
        while let last = bytes.last, last == UInt8(ascii: " ") || last == 0 { bytes.removeLast() }
    }

    var isAtEnd: Bool { bytes.isEmpty }
    var rest: String { String(decoding: bytes, as: UTF8.self) }

    /// Exactly `count` digits.
    mutating func number(_ count: Int) -> Int? {
        guard bytes.count >= count, bytes.prefix(count).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// All digits that follow.
    mutating func digits() -> String {
        let digits = bytes.prefix { (0x30...0x39).contains($0) }
        bytes = bytes.dropFirst(digits.count)
        return String(decoding: digits, as: UTF8.self)
    }

    /// One of the characters.
    mutating func skip(_ characters: String) -> Bool {
        guard let first = bytes.first, characters.utf8.contains(first) else { return false }
        bytes = bytes.dropFirst()
        return true
    }
}
