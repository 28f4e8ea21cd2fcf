/// The small pictures that the app itself puts into its archives: squares into which photos are stretched, as JPEG.
public struct ArchiveThumbnails: Sendable, Equatable {
    /// What their names begin with, before the name of the photo in the archive.
    public let prefix: String
    /// Of each side.
    public let pixels: Int
    /// Of the JPEG, from 1 to 100.
    public let quality: Int
    /// The members that the app accepts in an archive. With more, the thumbnails are left out rather than a photo refused.
    public let entryLimit: Int
    /// The bytes that the members of an archive may have unpacked, for the same reason.
    public let sizeLimitBytes: Int
}
