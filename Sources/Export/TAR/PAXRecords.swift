import BackupCore

/// The records of an extended header: each is its own length in decimal digits, a space, a keyword, `=`, a value, and a newline.
/// The length counts all of that, so that values may hold any byte.
struct PAXRecords {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ keyword: String, _ value: [UInt8]) {
        let rest = keyword.utf8.count + value.count + 3
        // The digits count themselves: one more may make the number longer by one.
        var length = rest + String(rest).utf8.count
        length = rest + String(length).utf8.count
        bytes += Array("\(length) \(keyword)=".utf8)
        bytes += value
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Seconds with as many decimals as are needed, exactly: -0.5 is half a second before 1970.
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
}
