import BackupCore

/// The records of an extended header. Each consists of its own length in decimal digits, a space, a keyword, `=`, a value, and a newline.
/// The length counts all of that, so values may contain any byte.
struct PAXRecords {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ keyword: String, _ value: [UInt8]) {
        let rest = keyword.utf8.count + value.count + 3
        // The digits count themselves: they may make the number one digit longer.
        var length = rest + String(rest).utf8.count
        length = rest + String(length).utf8.count
        bytes += Array("\(length) \(keyword)=".utf8)
        bytes += value
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Seconds with as many decimals as needed, exactly: -0.5 is half a second before 1970.
    static func text(of time: Timestamp) -> String {
        guard time.nanoseconds > 0 else { return String(time.seconds) }
        let isNegative = time.seconds < 0
        let whole = isNegative ? -(time.seconds + 1) : time.seconds
        let nanoseconds = isNegative ? 1_000_000_000 - time.nanoseconds : time.nanoseconds
        let digits = String(nanoseconds)
        var decimals = String(repeating: "0", count: 9 - digits.utf8.count) + digits
        while decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(isNegative ? "-" : "")\(whole).\(decimals)"
    }

    // MARK: Reading

    /// Parses the first record.
    /// - Returns: `nil` for an invalid record.
    static func first(of bytes: ArraySlice<UInt8>) -> (keyword: String, value: ArraySlice<UInt8>, end: Int)? {
        let digits = bytes.prefix(8).prefix { (48...57).contains($0) }
        guard let length = Int(String(decoding: digits, as: UTF8.self)), digits.first != 48, length <= bytes.count,
            length > digits.count + 2, bytes[digits.endIndex] == UInt8(ascii: " ")
        else { return nil }
        let end = bytes.startIndex + length
        let text = bytes[(digits.endIndex + 1)..<(end - 1)]
        guard bytes[end - 1] == UInt8(ascii: "\n"), let sign = text.firstIndex(of: UInt8(ascii: "=")), sign > text.startIndex,
            let keyword = String(validating: text[..<sign], as: UTF8.self)
        else { return nil }
        return (keyword, text[(sign + 1)...], end)
    }

    /// The inverse of `text(of:)`; drops digits after the ninth decimal.
    /// - Returns: `nil` for an invalid number of seconds.
    static func time(_ value: ArraySlice<UInt8>) -> Timestamp? {
        let isNegative = value.first == UInt8(ascii: "-")
        let parts = value.dropFirst(isNegative ? 1 : 0).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ $0.allSatisfy { (48...57).contains($0) } }),
            let count = UInt64(String(decoding: parts[0], as: UTF8.self)), count <= Int64.min.magnitude
        else { return nil }
        var nanoseconds: UInt32 = 0
        let decimals = parts.count == 2 ? parts[1].prefix(9) : []
        for index in 0..<9 {
            let offset = decimals.startIndex + index
            nanoseconds = nanoseconds * 10 + (index < decimals.count ? UInt32(decimals[offset]) - 48 : 0)
        }
        guard isNegative else { return Int64(exactly: count).map { Timestamp(seconds: $0, nanoseconds: nanoseconds) } }
        let seconds = count == Int64.min.magnitude ? Int64.min : -Int64(count)
        if nanoseconds == 0 { return Timestamp(seconds: seconds) }
        return seconds == .min ? nil : Timestamp(seconds: seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds)
    }
}
