import BackupCore

/// Constants of POSIX.1-2001, "pax Interchange Format" and "ustar Interchange Format". Fields that are not listed here stay zero.
enum TARFormat {
    /// Headers and contents begin at multiples of this.
    static let blockSizeBytes: UInt64 = 512
    /// Archives are written in records of 20 blocks. Tapes needed that; GNU tar, bsdtar and Python still pad the last one, and
    /// POSIX names it as the expected size.
    static let recordSizeBytes: UInt64 = 10_240
    /// The end marker of an archive: two blocks of zeros.
    static let endSizeBytes = 2 * blockSizeBytes

    static let nameField = 0..<100
    static let modeField = 100..<108
    static let userField = 108..<116
    static let groupField = 116..<124
    static let sizeField = 124..<136
    static let timeField = 136..<148
    static let checksumField = 148..<156
    static let typeField = 156
    static let linkField = 157..<257
    static let magicField = 257..<265
    static let deviceMajorField = 329..<337
    static let deviceMinorField = 337..<345
    static let prefixField = 345..<500

    /// Including the version, 00.
    static let magic: [UInt8] = Array("ustar\u{0}00".utf8)
    static let regularType = UInt8(ascii: "0")
    static let linkType = UInt8(ascii: "2")
    static let directoryType = UInt8(ascii: "5")
    static let extendedHeaderType = UInt8(ascii: "x")
    /// Only read: written by other programs.
    static let hardLinkType = UInt8(ascii: "1")
    static let globalHeaderType = UInt8(ascii: "g")
    static let longNameType = UInt8(ascii: "L")
    static let longTargetType = UInt8(ascii: "K")
    static let sparseType = UInt8(ascii: "S")

    /// The maximum of a 12-byte field: eleven octal digits. A size of 8 GiB is one more.
    static let octalLimit: UInt64 = 1 << 33 - 1

    /// The number of zeros from `size` bytes to the next block.
    static func paddingSize(after size: UInt64) -> UInt64 { (blockSizeBytes - size % blockSizeBytes) % blockSizeBytes }
}

/// One ustar header: 512 bytes, numbers in octal digits, texts without a terminator when they fill their field.
struct TARHeaderBlock {
    private(set) var bytes = [UInt8](repeating: 0, count: Int(TARFormat.blockSizeBytes))

    /// - Parameters:
    ///   - size: at most `TARFormat.octalLimit`, like `seconds`.
    init(
        name: ArraySlice<UInt8>, prefix: ArraySlice<UInt8>, linkTarget: ArraySlice<UInt8>, type: UInt8, permissions: UInt32,
        size: UInt64, seconds: UInt64
    ) {
        put(name, TARFormat.nameField)
        put(UInt64(permissions), TARFormat.modeField)
        put(0, TARFormat.userField)
        put(0, TARFormat.groupField)
        put(size, TARFormat.sizeField)
        put(seconds, TARFormat.timeField)
        bytes[TARFormat.typeField] = type
        put(linkTarget, TARFormat.linkField)
        put(TARFormat.magic[...], TARFormat.magicField)
        put(0, TARFormat.deviceMajorField)
        put(0, TARFormat.deviceMinorField)
        put(prefix, TARFormat.prefixField)
        putChecksum()
    }

    private mutating func put(_ text: ArraySlice<UInt8>, _ field: Range<Int>) {
        bytes.replaceSubrange(field.lowerBound..<field.lowerBound + text.count, with: text)
    }

    /// Leading zeros fill the field except for its last byte, the terminator.
    private mutating func put(_ number: UInt64, _ field: Range<Int>) {
        var rest = number
        for index in field.dropLast().reversed() {
            bytes[index] = UInt8(ascii: "0") + UInt8(rest & 7)
            rest >>= 3
        }
    }

    /// The sum of all bytes, with its own field counted as spaces: six digits, a zero byte and a space.
    private mutating func putChecksum() {
        let field = TARFormat.checksumField
        for index in field { bytes[index] = UInt8(ascii: " ") }
        put(bytes.reduce(0) { $0 + UInt64($1) }, field.dropLast())
        bytes[field.upperBound - 2] = 0
    }
}

/// The records of an extended header. Each consists of its own length in decimal digits, a space, a keyword, `=`, a value, and a
/// newline. The length counts all of that, so values may contain any byte.
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
