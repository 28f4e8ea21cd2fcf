/// The tables of a track (`stbl`: ISO 14496-12, 8.5 to 8.7), which say where its pictures lie.
struct SampleTables {
    /// Of the pictures of a track, the first one needs no other one mostly.
    private static let sampleLimit: UInt64 = 10_000

    /// `stsd`.
    let descriptions: Box
    private let source: VideoSource
    private let chunkRuns: Box
    private let sizes: Box
    private let chunkOffsets: Box
    /// `nil` for a track whose pictures need no others.
    private let keySamples: Box?

    /// A picture: where it lies, and which of the descriptions it has, from 1 on.
    struct Sample: Equatable {
        let offset: UInt64
        let count: Int
        let description: UInt64
    }

    /// - Parameter media: `mdia`.
    /// - Returns: `nil` for a track that lacks one of them.
    init?(_ media: Box, _ reader: inout BoxReader) throws(VideoError) {
        guard let information = try Self.child("minf", of: media, &reader),
            let table = try Self.child("stbl", of: information, &reader)
        else { return nil }
        var boxes: [[UInt8]: Box] = [:]
        try reader.forEach(in: table.content) { child throws(VideoError) in
            if boxes[child.type] == nil { boxes[child.type] = child }
            return true
        }
        func box(_ name: String) -> Box? { boxes[PhotoBox.type(name)] }
        guard let descriptions = box("stsd"), let chunkRuns = box("stsc"), let sizes = box("stsz"),
            let chunkOffsets = box("stco") ?? box("co64")
        else { return nil }
        (self.descriptions, self.chunkRuns, self.sizes, self.chunkOffsets) = (descriptions, chunkRuns, sizes, chunkOffsets)
        keySamples = box("stss")
        source = reader.source
    }

    private static func child(_ name: String, of box: Box, _ reader: inout BoxReader) throws(VideoError) -> Box? {
        var found: Box?
        try reader.forEach(in: box.content) { child throws(VideoError) in
            if child.isOf(name) { found = child }
            return found == nil
        }
        return found
    }

    /// - Returns: `nil` for a track without pictures of its own, as in a file of fragments.
    func firstKeySample() throws(VideoError) -> Sample? {
        var number: UInt64 = 1
        if let keySamples {
            guard try value(keySamples, at: 4, 4) > 0 else { return nil }
            number = try value(keySamples, at: 8, 4)
        }
        guard number > 0, number <= Self.sampleLimit, number <= (try value(sizes, at: 8, 4)) else { return nil }
        let (chunk, index, description) = try place(of: number)
        let isLong = chunkOffsets.isOf("co64")
        let width = isLong ? 8 : 4
        let start = try value(chunkOffsets, at: 8 + (chunk - 1) * UInt64(width), width)
        let (before, size) = try self.sizes(of: number, index)
        let (offset, overflows) = start.addingReportingOverflow(before)
        guard !overflows, size > 0, size <= UInt64(ClipLimits.sampleBytes), offset <= source.byteCount,
            size <= source.byteCount - offset
        else { throw .damaged }
        return Sample(offset: offset, count: Int(size), description: description)
    }

    /// The chunk of a sample, from 1 on, and how many samples are before it in the chunk.
    private func place(of number: UInt64) throws(VideoError) -> (chunk: UInt64, index: UInt64, description: UInt64) {
        let runCount = try value(chunkRuns, at: 4, 4)
        let chunkCount = try value(chunkOffsets, at: 4, 4)
        var samplesBefore: UInt64 = 0
        var position: UInt64 = 8
        // Each run has a sample at least, so that there are no more of them than samples.
        for run in 0..<runCount {
            let first = try value(chunkRuns, at: position, 4)
            let samplesPerChunk = try value(chunkRuns, at: position + 4, 4)
            let isLast = run == runCount - 1
            let next = isLast ? chunkCount + 1 : try value(chunkRuns, at: position + 12, 4)
            guard samplesPerChunk > 0, first > 0, first < next, next <= chunkCount + 1, run > 0 || first == 1 else {
                throw .damaged
            }
            let index = number - 1 - samplesBefore
            if index / samplesPerChunk < next - first {
                return (
                    first + index / samplesPerChunk, index % samplesPerChunk, try value(chunkRuns, at: position + 8, 4)
                )
            }
            samplesBefore += (next - first) * samplesPerChunk
            position += 12
        }
        throw .damaged
    }

    /// The bytes of the samples before it in its chunk, and its own.
    private func sizes(of number: UInt64, _ index: UInt64) throws(VideoError) -> (before: UInt64, own: UInt64) {
        let same = try value(sizes, at: 4, 4)
        if same > 0 { return (index * same, same) }
        let bytes = try content(of: sizes, at: 12 + (number - 1 - index) * 4, count: Int(index + 1) * 4)
        let numbers = stride(from: 0, to: bytes.count, by: 4).map { BoxReader.number(bytes[$0..<$0 + 4]) }
        return (numbers.dropLast().reduce(0, +), numbers[numbers.count - 1])
    }

    private func value(_ box: Box, at offset: UInt64, _ count: Int) throws(VideoError) -> UInt64 {
        BoxReader.number(try content(of: box, at: offset, count: count)[...])
    }

    private func content(of box: Box, at offset: UInt64, count: Int) throws(VideoError) -> [UInt8] {
        let length = box.content.upperBound - box.content.lowerBound
        guard offset <= length, UInt64(count) <= length - offset else { throw .damaged }
        return try source.read(at: box.content.lowerBound + offset, count: count)
    }
}
