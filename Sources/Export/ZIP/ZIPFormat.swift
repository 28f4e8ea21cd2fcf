/// The constants of the ZIP format (PKWARE's APPNOTE.TXT 6.3), shared by the layout and the reader.
enum ZIPFormat {
    static let localHeaderSignature: UInt32 = 0x0403_4B50
    static let centralHeaderSignature: UInt32 = 0x0201_4B50
    static let dataDescriptorSignature: UInt32 = 0x0807_4B50
    static let endRecordSignature: UInt32 = 0x0605_4B50
    static let zip64EndRecordSignature: UInt32 = 0x0606_4B50
    static let zip64LocatorSignature: UInt32 = 0x0706_4B50

    /// Lengths in bytes without names, extra fields and comments.
    static let localHeaderSize = 30
    static let centralHeaderSize = 46
    static let endRecordSize = 22
    static let zip64EndRecordSize = 56
    static let zip64LocatorSize = 20

    static let storedMethod: UInt16 = 0
    static let deflateMethod: UInt16 = 8

    static let encryptedFlag: UInt16 = 1 << 0
    /// The compressor's effort; irrelevant for reading.
    static let compressionLevelFlags: UInt16 = 1 << 1 | 1 << 2
    /// CRC and sizes follow the data instead of being in the local header.
    static let dataDescriptorFlag: UInt16 = 1 << 3
    static let utf8Flag: UInt16 = 1 << 11

    static let zip64Extra: UInt16 = 0x0001
    static let extendedTimestampExtra: UInt16 = 0x5455
    static let unicodePathExtra: UInt16 = 0x7075
    /// The "ASi Unix" field, with a separate mode and link target.
    static let asiUnixExtra: UInt16 = 0x756E

    /// Means "see the ZIP64 field" in a 16-bit or 32-bit field.
    static let limit16: UInt16 = 0xFFFF
    static let limit32: UInt32 = 0xFFFF_FFFF

    static let unixHost: UInt16 = 3
    static let darwinHost: UInt16 = 19
    static let msdosDirectoryAttribute: UInt32 = 0x10

    static let fileTypeMask: UInt32 = 0o170000
    static let regularFileType: UInt32 = 0o100000
    static let directoryType: UInt32 = 0o040000
    static let symbolicLinkType: UInt32 = 0o120000
}
