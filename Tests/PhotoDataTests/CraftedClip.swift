/// Builds movies with the tables of their pictures byte by byte.
enum CraftedClip {
    private static func number(_ value: some FixedWidthInteger) -> [UInt8] { CraftedVideo.number(value) }

    static func movie(_ tracks: [UInt8]) -> [UInt8] {
        CraftedVideo.fileType + CraftedVideo.box("moov", CraftedVideo.movieHeader() + tracks)
    }

    /// A table with a version in front: how many there are, and then each.
    static func table(_ name: String, _ entries: [[UInt8]]) -> [UInt8] {
        CraftedVideo.box(name, number(UInt32(0)) + number(UInt32(entries.count)) + entries.flatMap { $0 })
    }

    /// - Parameter boxes: what follows the size of the picture.
    static func entry(_ coding: String, width: UInt16 = 64, height: UInt16 = 48, _ boxes: [UInt8] = []) -> [UInt8] {
        CraftedVideo.box(
            coding,
            [UInt8](repeating: 0, count: 24) + number(width) + number(height) + [UInt8](repeating: 0, count: 50) + boxes)
    }

    /// - Parameters:
    ///   - sizes: of each sample.
    ///   - same: the size of all samples instead; 0 for none.
    ///   - runs: the first chunk, the samples in each chunk, the description.
    ///   - keys: the samples that need no others; `nil` for all.
    ///   - isLong: whether the offsets have 64 bits.
    static func track(
        offsets: [UInt64], sizes: [UInt32], same: UInt32 = 0, runs: [(UInt32, UInt32, UInt32)], keys: [UInt32]? = nil,
        isLong: Bool = false, entries: [[UInt8]] = [entry("jpeg")], matrix: [Int32] = CraftedVideo.straight
    ) -> [UInt8] {
        let sizeTable = CraftedVideo.box(
            "stsz",
            number(UInt32(0)) + number(same) + number(UInt32(sizes.count)) + (same == 0 ? sizes.flatMap { number($0) } : []))
        let places =
            isLong
            ? table("co64", offsets.map { number($0) }) : table("stco", offsets.map { number(UInt32(truncatingIfNeeded: $0)) })
        let chunks = table("stsc", runs.map { number($0.0) + number($0.1) + number($0.2) })
        let tables =
            table("stsd", entries) + sizeTable + chunks + places + (keys.map { table("stss", $0.map { number($0) }) } ?? [])
        let header =
            [0, 0, 0, 7] + [UInt8](repeating: 0, count: 36) + matrix.flatMap { number($0) } + number(UInt32(64 << 16))
            + number(UInt32(48 << 16))
        let handler = CraftedVideo.box(
            "hdlr", [UInt8](repeating: 0, count: 8) + Array("vide".utf8) + [UInt8](repeating: 0, count: 13))
        let media = handler + CraftedVideo.box("minf", CraftedVideo.box("stbl", tables))
        return CraftedVideo.box("trak", CraftedVideo.box("tkhd", header) + CraftedVideo.box("mdia", media))
    }
}
