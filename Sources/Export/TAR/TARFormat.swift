/// Constants of POSIX.1-2001, "pax Interchange Format" and "ustar Interchange Format". Fields that are not listed here stay zero.
enum TARFormat {
    /// Headers and contents begin at multiples of this.
    static let blockSizeBytes: UInt64 = 512
    /// Archives are written in records of 20 blocks. Tapes needed that; GNU tar, bsdtar and Python still pad the last one, and POSIX names it as the
    /// expected size.
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
