/// Finds the first picture of an AVI whose pictures are JPEGs (Motion JPEG), as older cameras make them. Chunks of RIFF are read
/// one after the other: each lies within the one around it, and their number is bounded.
struct AVIReader {
    private static let chunkLimit = 10_000
    private static let codings: Set<String> = ["MJPG", "mjpg", "dmb1"]

    private let source: VideoSource
    private var chunkCount = 0

    private struct Chunk {
        let type: [UInt8]
        let content: Range<UInt64>
        /// Of a list: the kind of list.
        let listType: [UInt8]?

        func isList(_ name: String) -> Bool { listType?.elementsEqual(name.utf8) == true }
        func isOf(_ name: String) -> Bool { type.elementsEqual(name.utf8) }

        /// What is in a list.
        var children: Range<UInt64> { content.lowerBound + 4..<content.upperBound }
    }

    private init(_ source: VideoSource) { self.source = source }

    /// - Returns: `nil` for another coding.
    static func frame(of source: VideoSource) throws(VideoError) -> ClipFrame? {
        var reader = AVIReader(source)
        let length = little(try source.read(at: 4, count: 4)[...])
        guard length >= 4, length <= source.byteCount - 8 else { throw .damaged }
        var lists: [Chunk] = []
        try reader.forEach(in: 12..<8 + length) { chunk throws(VideoError) in
            if chunk.isList("hdrl") || chunk.isList("movi") { lists.append(chunk) }
            return !chunk.isList("movi")
        }
        guard let header = lists.first(where: { $0.isList("hdrl") }), let movie = lists.first(where: { $0.isList("movi") }),
            let stream = try reader.stream(header), let place = try reader.firstPicture(of: stream, in: movie.children, depth: 0)
        else { return nil }
        let picture = try source.read(at: place.lowerBound, count: place.count)
        guard picture.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
        return ClipFrame(content: .image(picture), orientation: 1, pixelShape: .square)
    }

    /// The number of the first stream of JPEGs, as it is in the names of its chunks.
    private mutating func stream(_ header: Chunk) throws(VideoError) -> String? {
        var lists: [Chunk] = []
        try forEach(in: header.children) { chunk throws(VideoError) in
            if chunk.isList("strl") { lists.append(chunk) }
            return lists.count < 99
        }
        for (number, list) in lists.enumerated() {
            var isVideo = false
            var coding: String?
            let source = source
            try forEach(in: list.children) { chunk throws(VideoError) in
                if chunk.isOf("strh"), chunk.content.count >= 8 {
                    isVideo = try source.read(at: chunk.content.lowerBound, count: 4).elementsEqual("vids".utf8)
                } else if chunk.isOf("strf"), chunk.content.count >= 20 {
                    coding = PhotoText.decoded(try source.read(at: chunk.content.lowerBound + 16, count: 4))
                }
                return true
            }
            if isVideo, let coding, Self.codings.contains(coding) { return number < 10 ? "0\(number)" : "\(number)" }
        }
        return nil
    }

    /// - Returns: where its bytes are. A picture without any stands for the one before it.
    private mutating func firstPicture(
        of stream: String, in range: Range<UInt64>, depth: Int
    ) throws(VideoError) -> Range<UInt64>? {
        var found: Range<UInt64>?
        var group: Chunk?
        try forEach(in: range) { chunk throws(VideoError) in
            if chunk.isList("rec ") { group = chunk }
            if chunk.isOf("\(stream)dc") || chunk.isOf("\(stream)db"), !chunk.content.isEmpty { found = chunk.content }
            return found == nil && group == nil
        }
        // Groups come one after the other: the first one begins with the first picture.
        if let group, depth == 0 { found = try firstPicture(of: stream, in: group.children, depth: 1) }
        if let found, found.count > ClipLimits.sampleBytes { throw .damaged }
        return found
    }

    private mutating func forEach(
        in range: Range<UInt64>, _ visit: (Chunk) throws(VideoError) -> Bool
    ) throws(VideoError) {
        var position = range.lowerBound
        while position < range.upperBound, range.upperBound - position >= 8 {
            chunkCount += 1
            guard chunkCount <= Self.chunkLimit else { throw .damaged }
            let header = try source.read(at: position, count: 8)
            let length = Self.little(header[4...])
            let content = position + 8
            guard length <= range.upperBound - content else { throw .damaged }
            var listType: [UInt8]?
            if header.starts(with: Array("LIST".utf8)) {
                guard length >= 4 else { throw .damaged }
                listType = try source.read(at: content, count: 4)
            }
            guard try visit(Chunk(type: Array(header[..<4]), content: content..<content + length, listType: listType)) else {
                return
            }
            // A chunk of an odd length has one byte more.
            position = content + length + length % 2
        }
    }

    /// The least significant byte first.
    private static func little(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
