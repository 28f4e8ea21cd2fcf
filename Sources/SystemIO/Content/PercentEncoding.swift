/// The escaped form of names in addresses (RFC 3986, section 2, upper-case digits).
public enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Escapes all but unreserved characters: letters, digits and `-._~`.
    /// - Parameter others: characters that are kept, too, such as the slashes of a path; ASCII.
    public static func encode(_ bytes: some Collection<UInt8>, keeping others: String = "") -> String {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        for byte in bytes {
            if isUnreserved(byte) || others.utf8.contains(byte) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The form of a listing of S3 with `encoding-type=url`, in which a plus sign is a space.
    /// - Returns: `nil` for an incomplete escape and for anything but UTF-8.
    public static func decode(_ text: String) -> String? {
        var result: [UInt8] = []
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): result.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = bytes.popFirst().flatMap(value), let low = bytes.popFirst().flatMap(value) else { return nil }
                result.append(high << 4 | low)
            default: result.append(byte)
            }
        }
        return String(validating: result, as: UTF8.self)
    }

    /// The form of a path, in which a plus sign is itself.
    /// - Returns: `nil` for an incomplete escape.
    public static func decodeBytes(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var bytes = Array(text)[...]
        while let byte = bytes.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = bytes.popFirst().flatMap(value), let low = bytes.popFirst().flatMap(value) else { return nil }
            result.append(high << 4 | low)
        }
        return result
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
