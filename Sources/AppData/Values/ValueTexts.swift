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
        let date = LocalDateTime(
            year: centuries * 100 + years, month: month, day: day, hour: hour, minute: minute, second: second)
        return date.exists ? date.utcSeconds : nil
    }

    private static func pair(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Int? {
        let high = Int(bytes[index]) - 48
        let low = Int(bytes[index + 1]) - 48
        guard (0...9).contains(high), (0...9).contains(low) else { return nil }
        return high * 10 + low
    }
}

/// The stored form of a list of dates: a JSON array of texts without escapes, `["2026-01-11T14:30:00Z"]`.
public enum DateList {
    /// - Returns: the texts, which need not be dates; `nil` when it is not such an array.
    public static func texts(_ bytes: UnsafeRawBufferPointer) -> [ArraySlice<UInt8>]? {
        let bytes = Array(bytes)
        var index = 0
        func skipSpace() {
            while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        }
        func take(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
            index += 1
            return true
        }
        func end(_ texts: [ArraySlice<UInt8>]) -> [ArraySlice<UInt8>]? {
            skipSpace()
            return index == bytes.count ? texts : nil
        }
        guard take("[") else { return nil }
        var texts: [ArraySlice<UInt8>] = []
        if take("]") { return end(texts) }
        repeat {
            guard take("\""), let close = bytes[index...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
            let text = bytes[index..<close]
            guard !text.contains(UInt8(ascii: "\\")) else { return nil }
            texts.append(text)
            index = close + 1
        } while take(",")
        return take("]") ? end(texts) : nil
    }

    /// - Parameter texts: dates, which need no escapes.
    public static func joined(_ texts: [String]) -> String {
        "[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }
}

/// Times as integral milliseconds since 1970 in UTC.
public enum EpochMilliseconds {
    /// - Returns: `nil` for a time out of range. Drops fractions of a millisecond.
    public static func value(of time: Timestamp) -> Int64? {
        let (milliseconds, overflow) = time.seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return nil }
        let (sum, sumOverflow) = milliseconds.addingReportingOverflow(Int64(time.nanoseconds / 1_000_000))
        return sumOverflow ? nil : sum
    }

    /// The time of that many milliseconds since 1970; negative ones are before it.
    public static func time(_ milliseconds: Int64) -> Timestamp {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        // Before 1970, the fraction counts from the second before.
        return rest < 0
            ? Timestamp(seconds: seconds - 1, nanoseconds: UInt32(rest + 1_000) * 1_000_000)
            : Timestamp(seconds: seconds, nanoseconds: UInt32(rest) * 1_000_000)
    }
}

/// Dates written as numbers: seconds since 2001-01-01T00:00:00Z, the default of Foundation's encoders.
public enum ReferenceDate {
    private static let epochSeconds: Int64 = 978_307_200
    /// For the years 1 to 9999.
    private static let secondsRange: ClosedRange<Double> = -63_113_904_000...252_423_993_599

    /// - Parameter bytes: a JSON number
    /// - Returns: `nil` when it is out of range
    public static func time(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
        guard bytes.count <= 64, let number = Double(String(decoding: bytes, as: UTF8.self)), secondsRange.contains(number) else {
            return nil
        }
        let whole = number.rounded(.down)
        // At these times the number is precise to a microsecond.
        let microseconds = ((number - whole) * 1_000_000).rounded()
        return microseconds == 1_000_000
            ? Timestamp(seconds: Int64(whole) + epochSeconds + 1)
            : Timestamp(seconds: Int64(whole) + epochSeconds, nanoseconds: UInt32(microseconds) * 1_000)
    }
}

/// Decimal numbers inside JSON strings, stored verbatim: "12.50".
enum DecimalText {
    /// Parses short numbers without sign or exponent, the common case.
    private static func plainValue(_ bytes: UnsafeRawBufferPointer) -> Double? {
        guard (1...15).contains(bytes.count) else { return nil }
        var digits: UInt64 = 0
        var scale: UInt64 = 1
        var point = -1
        for index in 0..<bytes.count {
            let digit = bytes[index] &- 48
            if digit < 10 {
                digits = digits * 10 + UInt64(digit)
                if point >= 0 { scale *= 10 }
            } else {
                guard bytes[index] == UInt8(ascii: "."), point < 0, index > 0, index < bytes.count - 1 else { return nil }
                point = index
            }
        }
        return Double(digits) / Double(scale)
    }

    /// - Returns: the number for comparisons, or `nil` when it does not have the form `-?digits[.digits][e[±]digits]`.
    static func value(_ bytes: UnsafeRawBufferPointer) -> Double? {
        if let value = plainValue(bytes) { return value }
        guard bytes.count <= 400 else { return nil }
        var index = 0
        func digits() -> Int {
            let start = index
            while index < bytes.count, (48...57).contains(bytes[index]) { index += 1 }
            return index - start
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
        guard digits() > 0 else { return nil }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            guard digits() > 0 else { return nil }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") { index += 1 }
            guard digits() > 0 else { return nil }
        }
        guard index == bytes.count else { return nil }
        guard let value = Double(String(decoding: bytes, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }
}

/// The form of a UUID (RFC 9562, section 4): 8-4-4-4-12 hexadecimal digits, in either case.
enum UUIDText {
    static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == 36 else { return false }
        for (index, byte) in bytes.enumerated() {
            switch index {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return false }
            default:
                guard (48...57).contains(byte) || (65...70).contains(byte) || (97...102).contains(byte) else { return false }
            }
        }
        return true
    }
}
