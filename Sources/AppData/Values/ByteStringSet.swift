import Glibc

/// A fixed set of texts with lookup by bytes: creates no String, and two texts are equal only if their bytes are.
public final class ByteStringSet: Sendable {
    /// In the order given.
    public let members: [String]
    private let bytes: [UInt8]
    /// Where each member's bytes begin; one more at the end.
    private let starts: [Int]
    /// Hash table with open addressing: a member's index, or -1. At most half full; its size is a power of two.
    private let table: [Int]

    public init(_ members: [String]) {
        self.members = members
        var bytes: [UInt8] = []
        var starts = [0]
        var capacity = 2
        while capacity < members.count * 2 { capacity *= 2 }
        var table = [Int](repeating: -1, count: capacity)
        for (index, member) in members.enumerated() {
            let text = Array(member.utf8)
            bytes += text
            starts.append(bytes.count)
            var slot = text.withUnsafeBytes { Self.hash($0) } & (capacity - 1)
            while table[slot] >= 0 { slot = (slot + 1) & (capacity - 1) }
            table[slot] = index
        }
        self.bytes = bytes
        self.starts = starts
        self.table = table
    }

    /// Compares bytes: case and normal form count.
    public func contains(_ text: UnsafeRawBufferPointer) -> Bool {
        var slot = Self.hash(text) & (table.count - 1)
        while true {
            let index = table[slot]
            if index < 0 { return false }
            if isEqual(index, text) { return true }
            slot = (slot + 1) & (table.count - 1)
        }
    }

    /// The same for the UTF-8 of the text.
    public func contains(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { contains($0) } }

    private func isEqual(_ index: Int, _ text: UnsafeRawBufferPointer) -> Bool {
        let start = starts[index]
        guard starts[index + 1] - start == text.count else { return false }
        guard let asked = text.baseAddress else { return true }
        return bytes.withUnsafeBytes { known in known.baseAddress.map { memcmp($0 + start, asked, text.count) == 0 } ?? false }
    }

    private static func hash(_ text: UnsafeRawBufferPointer) -> Int {
        // Hashes only the first bytes: the members are the definition's own words, so an attacker cannot choose collisions.
        let end = min(24, text.count)
        var hash = UInt64(text.count)
        var offset = 0
        while offset < end {
            var word: UInt64 = 0
            if offset + 8 <= end {
                word = text.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            } else {
                for index in offset..<end { word = word << 8 | UInt64(text[index]) }
            }
            let product = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            hash = product.high ^ product.low
            offset += 8
        }
        return Int(truncatingIfNeeded: hash >> 1)
    }
}

/// The currencies that a record may name: the active codes of ISO 4217 (2024), and the symbols that apps write instead.
public enum CurrencyCodes {
    private static let codes = """
        AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF \
        CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD \
        GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR \
        LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK \
        PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND \
        TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR \
        XOF XPD XPF XPT XSU XTS XUA YER ZAR ZMW ZWG ZWL
        """

    private static let symbols = ["$", "₸", "€", "Br", "₴", "₽", "₺", "Dh", "SR", "£", "¥", "₹", "CN¥"]

    static let all = ByteStringSet(codes.split(separator: " ").map(String.init) + symbols)

    /// The codes in their order, followed by the symbols.
    public static var members: [String] { all.members }

    /// Case-sensitive: `usd` is not a code.
    public static func contains(_ text: String) -> Bool { all.contains(text) }
}
