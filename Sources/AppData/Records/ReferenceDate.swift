import BackupCore

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
