/// What a thumbnail is like. It is a JPEG below `PhotoLimits.thumbnailBytes` in each form.
public struct ThumbnailForm: Sendable, Equatable {
    /// Of backups and buckets: at most 256 × 256 pixels, as the picture is.
    public static let usual = ThumbnailForm(pixels: PhotoLimits.thumbnailPixels, quality: 80, isStretched: false)

    /// Of the longer side, from 1 to 256. A picture that is not stretched is only made smaller.
    public let pixels: Int
    /// Of the JPEG, from 1 to 100. It is lowered until the thumbnail is small enough.
    public let quality: Int
    /// Whether the picture fills a square, whatever its sides.
    public let isStretched: Bool

    public init(pixels: Int, quality: Int, isStretched: Bool) {
        self.pixels = min(max(pixels, 1), PhotoLimits.thumbnailPixels)
        self.quality = min(max(quality, 1), 100)
        self.isStretched = isStretched
    }

    /// As the argument of a request.
    public var argument: UInt32 {
        UInt32(pixels) | UInt32(quality) << 16 | (isStretched ? 1 : 0) << 24
    }

    /// - Returns: `nil` for the argument of another kind of request.
    public init?(argument: UInt32) {
        self.init(
            pixels: Int(argument & 0xFFFF), quality: Int(argument >> 16 & 0xFF), isStretched: argument >> 24 & 1 == 1)
        guard self.argument == argument else { return nil }
    }
}
