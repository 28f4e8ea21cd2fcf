extension FileName {
    /// With its dot: what is longer is no ending.
    private static let endingLimitBytes = 17

    /// A name with something put before its ending, and as long as a name can be: the ending stays, and no character is cut through.
    /// - Parameters:
    ///   - addition: a number, for a name that is taken.
    ///   - reservedBytes: what the name is to leave free for something behind it.
    public static func fitting(_ name: [UInt8], _ addition: String = "", reservedBytes: Int = 0) -> [UInt8] {
        let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        // What begins with its only dot has no ending.
        let isEnding = dot > 0 && name.count - dot <= endingLimitBytes
        let stem = isEnding ? name[..<dot] : name[...]
        let end = Array(addition.utf8) + (isEnding ? name[dot...] : [])
        var count = min(stem.count, byteCountLimit - reservedBytes - end.count)
        while count > 1, count < stem.count, stem[count] & 0xC0 == 0x80 { count -= 1 }
        return stem.prefix(count) + end
    }

    /// `NAME_2`: for a folder's name that is taken, which has no ending. As long as a name can be, and no character is cut through.
    public func numbered(_ number: Int) -> FileName {
        let end = Array("_\(number)".utf8)
        var count = min(bytes.count, Self.byteCountLimit - end.count)
        while count > 1, count < bytes.count, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return FileName(bytes: bytes.prefix(count) + end)
    }
}
