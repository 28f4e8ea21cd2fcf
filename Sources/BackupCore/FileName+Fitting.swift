extension FileName {
    /// Including the dot: a longer suffix is not an extension.
    private static let endingLimitBytes = 17

    /// A name with text inserted before its extension, shortened to the length limit: keeps the extension, and does not split a character.
    /// - Parameters:
    ///   - addition: a number, if the name is already taken.
    ///   - reservedBytes: space to leave in the name for a later suffix.
    public static func fitting(_ name: [UInt8], _ addition: String = "", reservedBytes: Int = 0) -> [UInt8] {
        let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        // A name whose only dot is its first character has no extension.
        let isEnding = dot > 0 && name.count - dot <= endingLimitBytes
        let stem = isEnding ? name[..<dot] : name[...]
        let end = Array(addition.utf8) + (isEnding ? name[dot...] : [])
        var count = min(stem.count, byteCountLimit - reservedBytes - end.count)
        while count > 1, count < stem.count, stem[count] & 0xC0 == 0x80 { count -= 1 }
        return stem.prefix(count) + end
    }

    /// `NAME_2`: for a folder name that is taken; a folder has no extension. Shortened to the length limit without splitting a character.
    public func numbered(_ number: Int) -> FileName {
        let end = Array("_\(number)".utf8)
        var count = min(bytes.count, Self.byteCountLimit - end.count)
        while count > 1, count < bytes.count, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return FileName(bytes: bytes.prefix(count) + end)
    }
}
