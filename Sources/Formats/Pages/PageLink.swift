/// Links in HTML files to files beside them.
public enum PageLink {
    /// The address of a file relative to the page, for an attribute in double quotes. A name can have any bytes: it is never
    /// taken for the address of something else.
    /// - Parameter components: the names of the folders on the way, and of the file.
    public static func address(_ components: [[UInt8]], isFolder: Bool = false) -> String {
        "./" + components.map { $0.map(escaped).joined() }.joined(separator: "/") + (isFolder ? "/" : "")
    }

    /// RFC 3986, section 2: everything but unreserved characters.
    private static func escaped(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            return String(UnicodeScalar(byte))
        default:
            let digits = Array("0123456789ABCDEF")
            return "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
    }
}
