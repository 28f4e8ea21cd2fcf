/// A picture of H.264 as a decoder takes it: each part behind a start code (ITU-T H.264, annex B), the parameter sets first. In
/// files, each has its length in front (ISO 14496-15, 5.3).
struct H264Stream {
    /// What openh264 decodes: Baseline, Main, High.
    private static let profiles: Set<UInt8> = [66, 77, 100]
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    let bytes: [UInt8]
    /// What the first set of the sequence says; `nil` if it says too little.
    let sequence: H264Sequence?

    /// - Parameters:
    ///   - configuration: the content of `avcC`.
    ///   - picture: as it lies in the file.
    init(_ configuration: [UInt8], picture: [UInt8]) throws(VideoError) {
        guard configuration.count >= 7, configuration[0] == 1 else { throw .damaged }
        let lengthByteCount = Int(configuration[4] & 3) + 1
        var sets: [ArraySlice<UInt8>] = []
        var position = 5
        // Of the sequence, then of pictures.
        for (countMask, type) in [(UInt8(0x1F), UInt8(7)), (0xFF, 8)] {
            guard position < configuration.count else { throw .damaged }
            let count = configuration[position] & countMask
            position += 1
            for _ in 0..<count {
                let length = Int(try BoxReader.number(configuration, at: position, 2))
                position += 2
                guard length > 0, length <= configuration.count - position else { throw .damaged }
                let set = configuration[position..<position + length]
                position += length
                if configuration[set.startIndex] & 0x1F == type { sets.append(set) }
            }
        }
        let units = try CodedUnits.split(picture, lengthByteCount: lengthByteCount)
        // Slices and sets: not what is beside the pictures.
        let wanted = units.filter { [1, 5, 7, 8].contains($0[$0.startIndex] & 0x1F) }
        guard wanted.contains(where: { [1, 5].contains($0[$0.startIndex] & 0x1F) }) else { throw .damaged }
        let sequences = (sets + wanted).filter { $0[$0.startIndex] & 0x1F == 7 }
        guard sequences.allSatisfy({ $0.count >= 4 && Self.profiles.contains($0[$0.startIndex + 1]) }) else { throw .damaged }
        sequence = sequences.first.flatMap { try? H264Sequence($0) }
        bytes = (sets + wanted).flatMap { Self.startCode + $0 }
    }
}

/// The parts of a coded picture (NAL units).
enum CodedUnits {
    /// - Parameter lengthByteCount: of the length in front of each: 1, 2 or 4.
    /// - Throws: when a part is longer than what is there, and when there is none or far too many.
    static func split(_ picture: [UInt8], lengthByteCount: Int) throws(VideoError) -> [ArraySlice<UInt8>] {
        guard [1, 2, 4].contains(lengthByteCount) else { throw .damaged }
        var units: [ArraySlice<UInt8>] = []
        var position = 0
        while position < picture.count {
            let length = Int(try BoxReader.number(picture, at: position, lengthByteCount))
            position += lengthByteCount
            guard length <= picture.count - position else { throw .damaged }
            if length > 0 { units.append(picture[position..<position + length]) }
            position += length
            guard units.count <= ClipLimits.unitCount else { throw .damaged }
        }
        guard !units.isEmpty else { throw .damaged }
        return units
    }
}
