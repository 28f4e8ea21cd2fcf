/// Apple's maker note in photos of iPhones, of which exiv2 knows nothing but the bytes.
enum AppleMakerNote {
    private static let identifierTag = 0x0011
    private static let entryLimit = 512

    /// The identifier that the still and the video of a live photo share.
    /// - Parameter bytes: the whole note. Positions in it count from its start.
    /// - Returns: `nil` when it is another maker's or lacks the identifier, and when a length or position leads out of the note.
    static func livePhotoIdentifier(_ bytes: [UInt8]) -> String? {
        guard bytes.count >= 16, bytes.starts(with: "Apple iOS\0".utf8) else { return nil }
        let isBigEndian: Bool
        switch (bytes[12], bytes[13]) {
        case (0x4D, 0x4D): isBigEndian = true
        case (0x49, 0x49): isBigEndian = false
        default: return nil
        }
        func number(at offset: Int, _ count: Int) -> Int {
            let part = bytes[offset..<offset + count]
            return isBigEndian ? part.reduce(0) { $0 << 8 | Int($1) } : part.reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let entryCount = number(at: 14, 2)
        guard entryCount <= entryLimit, 16 + entryCount * 12 <= bytes.count else { return nil }
        for entry in 0..<entryCount {
            let start = 16 + entry * 12
            // 2 is ASCII. A text of up to four bytes is in the entry itself, and no identifier is so short.
            guard number(at: start, 2) == identifierTag, number(at: start + 2, 2) == 2 else { continue }
            let (count, offset) = (number(at: start + 4, 4), number(at: start + 8, 4))
            guard (5...256).contains(count), offset <= bytes.count, count <= bytes.count - offset else { return nil }
            return PhotoText.field(String(decoding: bytes[offset..<offset + count].prefix { $0 != 0 }, as: UTF8.self))
        }
        return nil
    }
}
