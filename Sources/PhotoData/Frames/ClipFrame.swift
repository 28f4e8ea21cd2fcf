/// A picture of a clip, as it is coded in the file.
public struct ClipFrame: Sendable, Equatable {
    /// What a decoder gets.
    public enum Content: Sendable, Equatable {
        /// A JPEG, or a HEIC that was made of a picture of HEVC.
        case image([UInt8])
        /// Parameter sets and a picture of H.264, with start codes.
        case h264([UInt8], VideoColours)
    }

    public let content: Content
    /// How it is turned to be shown, as in Exif: 1 to 8.
    public let orientation: Int
    /// Of each of its pixels.
    public let pixelShape: PixelShape

    /// The width and height of a pixel, from 1 on: 4 and 3 for one that is wider than high. None is over four times the other.
    public struct PixelShape: Sendable, Equatable {
        /// That of most clips.
        public static let square = PixelShape(width: 1, height: 1)

        /// In any unit.
        public let width: Int
        /// In the same unit.
        public let height: Int
    }
}

/// How the numbers of a picture become colours.
public struct VideoColours: Sendable, Equatable {
    /// ISO 23091-2: 1 for BT.709, 5 and 6 for BT.601, 9 for BT.2020; `nil` when the file does not say.
    public var matrix: Int?
    /// Whether black is 0 instead of 16.
    public var isFullRange: Bool

    public init(matrix: Int? = nil, isFullRange: Bool = false) {
        self.matrix = matrix
        self.isFullRange = isFullRange
    }
}

/// What is read of a clip at most.
enum ClipLimits {
    /// Of a coded picture.
    static let sampleBytes = 32 << 20
    /// Of the parameter sets that come with a track.
    static let configurationBytes = 64 << 10
    /// Of a picture.
    static let pixels = 100_000_000
    /// Of the parts of one coded picture, and of its parameter sets.
    static let unitCount = 4_096
}
