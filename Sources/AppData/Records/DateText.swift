import BackupCore
import SystemIO

/// The stored form of dates: ISO 8601 in UTC, ending with `Z`. Input in that form is stored verbatim.
public enum DateText {
    /// - Returns: the same instant in UTC, or `nil` when the text already has the stored form, or is not a date.
    public static func normalised(_ bytes: UnsafeRawBufferPointer) -> String? {
        if bytes.count >= 20, bytes[10] == UInt8(ascii: "T"), bytes[bytes.count - 1] == UInt8(ascii: "Z") { return nil }
        guard let time = time(bytes) else { return nil }
        return ISO8601.format(time)
    }

    /// - Returns: `nil` when it is not a date with a zone.
    public static func time(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
        if bytes.count == 20, let seconds = wholeSeconds(bytes) { return Timestamp(seconds: seconds) }
        guard bytes.count <= 64 else { return nil }
        return ISO8601.parse(Array(bytes)[...])
    }

    /// Parses the common form, `2026-01-11T14:30:00Z`, without allocating arrays.
    private static func wholeSeconds(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes[4] == 45, bytes[7] == 45, bytes[10] == 84, bytes[13] == 58, bytes[16] == 58, bytes[19] == 90 else {
            return nil
        }
        guard let centuries = pair(bytes, 0), let years = pair(bytes, 2), let month = pair(bytes, 5), let day = pair(bytes, 8),
            let hour = pair(bytes, 11), let minute = pair(bytes, 14), let second = pair(bytes, 17)
        else { return nil }
        let year = centuries * 100 + years
        // Days 29 to 31 depend on the month: left to the general parser.
        guard (1...12).contains(month), (1...28).contains(day), hour < 24, minute < 60, second < 60 else { return nil }
        // Days from civil date, Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return Int64(days * 86_400 + hour * 3_600 + minute * 60 + second)
    }

    private static func pair(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Int? {
        let high = Int(bytes[index]) - 48
        let low = Int(bytes[index + 1]) - 48
        guard (0...9).contains(high), (0...9).contains(low) else { return nil }
        return high * 10 + low
    }
}
