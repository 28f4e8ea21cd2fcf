/// What a sequence parameter set of H.264 (ITU-T H.264, 7.3.2.1) says of the colours, behind much that is skipped.
struct H264Sequence: Equatable {
    private static let highProfiles: Set<UInt32> = [44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244]
    /// The kinds of pixels whose width and height are written out.
    private static let extendedShape: UInt32 = 255

    private(set) var isFullRange = false
    /// As in `VideoColours`.
    private(set) var matrix: Int?

    /// - Parameter unit: with its first byte, the kind of unit.
    init(_ unit: ArraySlice<UInt8>) throws(VideoError) {
        var reader = BitReader(unit.dropFirst())
        let profile = try reader.bits(8)
        _ = try reader.bits(16)
        _ = try reader.exponential()
        if Self.highProfiles.contains(profile) { try Self.skipFormat(&reader) }
        try Self.skipOrder(&reader)
        // Reference pictures, gaps, the size in macroblocks.
        _ = try reader.exponential()
        _ = try reader.bits(1)
        _ = try reader.exponential()
        _ = try reader.exponential()
        // Without it, pictures are of fields.
        if try reader.bits(1) == 0 { _ = try reader.bits(1) }
        _ = try reader.bits(1)
        if try reader.bits(1) == 1 { for _ in 0..<4 { _ = try reader.exponential() } }
        guard try reader.bits(1) == 1 else { return }
        if try reader.bits(1) == 1, try reader.bits(8) == Self.extendedShape { _ = try reader.bits(32) }
        if try reader.bits(1) == 1 { _ = try reader.bits(1) }
        guard try reader.bits(1) == 1 else { return }
        _ = try reader.bits(3)
        isFullRange = try reader.bits(1) == 1
        guard try reader.bits(1) == 1 else { return }
        _ = try reader.bits(16)
        let matrix = Int(try reader.bits(8))
        // 2 is unknown.
        if matrix != 2 { self.matrix = matrix }
    }

    private static func skipFormat(_ reader: inout BitReader) throws(VideoError) {
        let format = try reader.exponential()
        if format == 3 { _ = try reader.bits(1) }
        _ = try reader.exponential()
        _ = try reader.exponential()
        _ = try reader.bits(1)
        guard try reader.bits(1) == 1 else { return }
        for list in 0..<(format == 3 ? 12 : 8) {
            guard try reader.bits(1) == 1 else { continue }
            var (last, next) = (8, 8)
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 { next = (last + (try reader.signedExponential()) + 256) & 0xFF }
                if next != 0 { last = next }
            }
        }
    }

    private static func skipOrder(_ reader: inout BitReader) throws(VideoError) {
        _ = try reader.exponential()
        switch try reader.exponential() {
        case 0: _ = try reader.exponential()
        case 1:
            _ = try reader.bits(1)
            _ = try reader.exponential()
            _ = try reader.exponential()
            let count = try reader.exponential()
            guard count <= 255 else { throw .damaged }
            for _ in 0..<count { _ = try reader.exponential() }
        default: break
        }
    }
}

/// Reads bits, the most significant one of a byte first, without the bytes that keep start codes out (ITU-T H.264, 7.4.1).
struct BitReader {
    private let bytes: [UInt8]
    /// In bits.
    private var position = 0

    init(_ coded: ArraySlice<UInt8>) {
        var bytes: [UInt8] = []
        var zeroCount = 0
        for byte in coded {
            let isEscape = zeroCount >= 2 && byte == 3
            zeroCount = byte == 0 ? zeroCount + 1 : 0
            if !isEscape { bytes.append(byte) }
        }
        self.bytes = bytes
    }

    /// - Parameter count: up to 32.
    mutating func bits(_ count: Int) throws(VideoError) -> UInt32 {
        guard count <= bytes.count * 8 - position else { throw .damaged }
        var value: UInt32 = 0
        for _ in 0..<count {
            value = value << 1 | UInt32(bytes[position / 8] >> (7 - position % 8) & 1)
            position += 1
        }
        return value
    }

    /// A number of Exp-Golomb (9.1), without a sign.
    mutating func exponential() throws(VideoError) -> UInt32 {
        var zeroCount = 0
        while try bits(1) == 0 {
            zeroCount += 1
            guard zeroCount < 32 else { throw .damaged }
        }
        return try (1 << zeroCount) - 1 + bits(zeroCount)
    }

    /// The same with a sign: 0, 1, -1, 2, -2, ….
    mutating func signedExponential() throws(VideoError) -> Int {
        let value = Int(try exponential())
        return value % 2 == 1 ? (value + 1) / 2 : -(value / 2)
    }
}
