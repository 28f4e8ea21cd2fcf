/// What `moov/meta` (keys of Apple and Android) and `moov/udta` (older, with `©`) say.
struct QuickTimeMetadata {
    private static let keyLimit = 256
    private static let keysLimitBytes = 64 << 10
    private static let valueLimitBytes = 16 << 10

    /// Texts under their keys, such as `com.apple.quicktime.make`, or `©mak`.
    private(set) var texts: [(key: String, value: String)] = []

    func first(_ keys: String...) -> String? {
        keys.lazy.compactMap { key in texts.first { $0.key == key }?.value }.first
    }

    /// - Parameter box: `meta`.
    mutating func read(meta box: Box, with reader: inout BoxReader) throws(VideoError) {
        // In ISO files it has a version before its boxes, in QuickTime it has none.
        var content = box.content
        guard content.count >= 8 else { return }
        if try reader.source.read(at: content.lowerBound + 4, count: 4) != PhotoBox.type("hdlr") {
            content = content.lowerBound + 4..<content.upperBound
        }
        var keysBox: Box?
        var listBox: Box?
        try reader.forEach(in: content) { child throws(VideoError) in
            if child.isOf("keys") { keysBox = keysBox ?? child }
            if child.isOf("ilst") { listBox = listBox ?? child }
            return true
        }
        guard let listBox else { return }
        let keys: [String]
        // Without keys, the items have names of their own: iTunes, ffmpeg.
        if let keysBox { keys = try Self.keys(reader.content(of: keysBox, limit: Self.keysLimitBytes)) } else { keys = [] }
        var items: [Box] = []
        try reader.forEach(in: listBox.content) { item throws(VideoError) in
            guard items.count < Self.keyLimit else { throw .damaged }
            items.append(item)
            return true
        }
        for item in items {
            // The number of the key, from 1 on, is in the place of a name.
            let index = Int(BoxReader.number(item.type[...]))
            let key: String
            if keys.indices.contains(index - 1) {
                key = keys[index - 1]
            } else if item.type[0] == 0xA9 {
                key = PhotoText.decoded(item.type)
            } else {
                continue
            }
            var values: [String] = []
            let source = reader
            try reader.forEach(in: item.content) { data throws(VideoError) in
                guard data.isOf("data"), data.content.count >= 8, data.content.count <= Self.valueLimitBytes else { return true }
                let bytes = try source.content(of: data, limit: Self.valueLimitBytes)
                // 1 is UTF-8; numbers and pictures are left out.
                if BoxReader.number(bytes[..<4]) == 1, let text = String(validating: bytes[8...], as: UTF8.self) {
                    values.append(text)
                }
                return true
            }
            for value in values { texts.append((key, value)) }
        }
    }

    private static func keys(_ bytes: [UInt8]) throws(VideoError) -> [String] {
        let count = try BoxReader.number(bytes, at: 4, 4)
        guard count <= keyLimit else { throw .damaged }
        var keys: [String] = []
        var position = 8
        for _ in 0..<count {
            let length = Int(try BoxReader.number(bytes, at: position, 4))
            guard length >= 8, length <= bytes.count - position else { throw .damaged }
            keys.append(PhotoText.decoded(bytes[position + 8..<position + length]))
            position += length
        }
        return keys
    }

    /// - Parameter box: `udta`.
    mutating func read(userData box: Box, with reader: inout BoxReader) throws(VideoError) {
        var children: [Box] = []
        var meta: Box?
        try reader.forEach(in: box.content) { child throws(VideoError) in
            guard children.count < Self.keyLimit else { throw .damaged }
            if child.type[0] == 0xA9 { children.append(child) }
            if child.isOf("meta") { meta = meta ?? child }
            return true
        }
        // Some programs put the keys in here.
        if let meta { try read(meta: meta, with: &reader) }
        for child in children where child.content.count <= Self.valueLimitBytes {
            let bytes = try reader.content(of: child, limit: Self.valueLimitBytes)
            // A length, a language, and the text.
            guard bytes.count >= 4 else { continue }
            let length = Int(BoxReader.number(bytes[..<2]))
            guard length <= bytes.count - 4 else { continue }
            texts.append((PhotoText.decoded(child.type), PhotoText.decoded(bytes[4..<4 + length])))
        }
    }
}
