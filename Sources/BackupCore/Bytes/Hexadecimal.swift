/// Converts between hexadecimal digits and bytes, without Foundation.
public enum Hexadecimal {
    private static let digits: [UInt8] = Array("0123456789abcdef".utf8)

    /// Lower-case digits, two per byte.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: encodeToUTF8(bytes), as: UTF8.self)
    }

    /// The same, as bytes.
    public static func encodeToUTF8(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            output.append(digits[Int(byte >> 4)])
            output.append(digits[Int(byte & 15)])
        }
        return output
    }

    /// - Returns: `nil` for an odd number of digits or for anything that is not a digit; accepts upper and lower case.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(text.count / 2)
        var high: UInt8?
        for character in text {
            let value: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = character - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = character - UInt8(ascii: "A") + 10
            default: return nil
            }
            if let first = high {
                output.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return output
    }
}
