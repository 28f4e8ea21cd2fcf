import BackupCore
import SystemIO

/// The constants of the ZIP format (PKWARE's APPNOTE.TXT 6.3), shared by the layout and the reader.
enum ZIPFormat {
    static let localHeaderSignature: UInt32 = 0x0403_4B50
    static let centralHeaderSignature: UInt32 = 0x0201_4B50
    static let dataDescriptorSignature: UInt32 = 0x0807_4B50
    static let endRecordSignature: UInt32 = 0x0605_4B50
    static let zip64EndRecordSignature: UInt32 = 0x0606_4B50
    static let zip64LocatorSignature: UInt32 = 0x0706_4B50

    /// Lengths in bytes without names, extra fields and comments.
    static let localHeaderSize = 30
    static let centralHeaderSize = 46
    static let endRecordSize = 22
    static let zip64EndRecordSize = 56
    static let zip64LocatorSize = 20

    static let storedMethod: UInt16 = 0
    static let deflateMethod: UInt16 = 8

    static let encryptedFlag: UInt16 = 1 << 0
    /// The compressor's effort; irrelevant for reading.
    static let compressionLevelFlags: UInt16 = 1 << 1 | 1 << 2
    /// CRC and sizes follow the data instead of being in the local header.
    static let dataDescriptorFlag: UInt16 = 1 << 3
    static let utf8Flag: UInt16 = 1 << 11

    static let zip64Extra: UInt16 = 0x0001
    static let extendedTimestampExtra: UInt16 = 0x5455
    static let unicodePathExtra: UInt16 = 0x7075
    /// The "ASi Unix" field, with a separate mode and link target.
    static let asiUnixExtra: UInt16 = 0x756E

    /// Means "see the ZIP64 field" in a 16-bit or 32-bit field.
    static let limit16: UInt16 = 0xFFFF
    static let limit32: UInt32 = 0xFFFF_FFFF

    static let unixHost: UInt16 = 3
    static let darwinHost: UInt16 = 19
    static let msdosDirectoryAttribute: UInt32 = 0x10
}

/// The two clocks of a ZIP entry. The old one (MS-DOS, two-second steps, 1980 to 2107) has no time zone; this program writes and
/// reads it as UTC, so that an archive does not depend on where it is created. The extended timestamp beside it is exact to the
/// second, and tools prefer it.
enum ZIPTime {
    /// Clamps times outside the clock's range.
    static func msdos(_ time: Timestamp) -> (time: UInt16, date: UInt16) {
        let earliest: (UInt16, UInt16) = (0, 1 << 5 | 1)
        let latest: (UInt16, UInt16) = (23 << 11 | 59 << 5 | 29, 127 << 9 | 12 << 5 | 31)
        let utc = LocalDateTime(utc: time)
        if utc.year < 1980 { return earliest }
        if utc.year > 2107 { return latest }
        let clock = UInt16(utc.hour) << 11 | UInt16(utc.minute) << 5 | UInt16(utc.second / 2)
        let date = UInt16(utc.year - 1980) << 9 | UInt16(utc.month) << 5 | UInt16(utc.day)
        return (clock, date)
    }

    /// The time of an MS-DOS timestamp in UTC; a month or day of 0 counts as 1.
    static func timestamp(msdosTime: UInt16, date: UInt16) -> Timestamp {
        // Months 13 to 15, which the field can hold, are those of the next year.
        let month = max(0, Int(date >> 5 & 15) - 1)
        let utc = LocalDateTime(
            year: 1980 + Int(date >> 9) + month / 12, month: month % 12 + 1, day: max(1, Int(date & 31)),
            hour: Int(msdosTime >> 11), minute: Int(msdosTime >> 5 & 63), second: Int(msdosTime & 31) * 2)
        return Timestamp(seconds: utc.utcSeconds)
    }

    /// The extended timestamp's value; `nil` outside 1970 to 2038, where readers do not agree on the sign.
    static func unix(_ time: Timestamp) -> UInt32? {
        (0...Int64(Int32.max)).contains(time.seconds) ? UInt32(time.seconds) : nil
    }
}
