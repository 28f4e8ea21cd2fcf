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
