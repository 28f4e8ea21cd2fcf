import SystemIO

/// Reads what MP4, MOV and their kin say of themselves: the few boxes in `moov` that have it. The pictures and sounds are
/// skipped, so that a video of gigabytes takes no more time or memory than one of seconds.
public enum VideoReader {
    private static let trackLimit = 64

    /// - Returns: `nil` for a file without `moov`.
    public static func metadata(of source: VideoSource, contentType: String) throws(VideoError) -> PhotoMetadata? {
        var reader = BoxReader(source)
        var movie: Box?
        try reader.forEach(in: 0..<source.byteCount, isTop: true) { box throws(VideoError) in
            if box.isOf("moov") { movie = box }
            return movie == nil
        }
        guard let movie else { return nil }
        var children: [Box] = []
        try reader.forEach(in: movie.content) { child throws(VideoError) in
            if ["mvhd", "trak", "meta", "udta"].contains(where: child.isOf) { children.append(child) }
            guard children.count <= trackLimit else { throw .damaged }
            return true
        }
        var photo = PhotoMetadata(.video, contentType: contentType)
        var texts = QuickTimeMetadata()
        var createdAt: PhotoDate?
        for child in children {
            if child.isOf("mvhd") {
                createdAt = try readMovieHeader(reader.content(of: child, limit: VideoTrack.headerLimitBytes), into: &photo)
            } else if child.isOf("trak") {
                if photo.pixelWidth == nil, let size = try VideoTrack(child, &reader)?.shownSize {
                    (photo.pixelWidth, photo.pixelHeight) = (size.width, size.height)
                }
            } else {
                // Texts are of many programs, some with flaws. They cost only what comes after them.
                do throws(VideoError) {
                    if child.isOf("meta") {
                        try texts.read(meta: child, with: &reader)
                    } else {
                        try texts.read(userData: child, with: &reader)
                    }
                } catch {
                    photo.isShortened = true
                }
            }
        }
        apply(texts, createdAt: createdAt, to: &photo)
        return photo
    }

    // MARK: Headers

    /// - Returns: when the video was made, in UTC; `nil` for 0 and everything before 1970, which stand for unset clocks.
    private static func readMovieHeader(
        _ bytes: [UInt8], into photo: inout PhotoMetadata
    ) throws(VideoError) -> PhotoDate? {
        let isLong = try VideoTrack.isLong(bytes)
        let created = try BoxReader.number(bytes, at: 4, isLong ? 8 : 4)
        let timescale = try BoxReader.number(bytes, at: isLong ? 20 : 12, 4)
        let duration = try BoxReader.number(bytes, at: isLong ? 24 : 16, isLong ? 8 : 4)
        // All bits set: not known.
        if timescale > 0, duration > 0, duration != (isLong ? UInt64.max : UInt64(UInt32.max)) {
            let seconds = Double(duration) / Double(timescale)
            if PhotoLimits.durationSeconds.contains(seconds) { photo.durationSeconds = seconds }
        }
        // Counted from 1904.
        guard created > 2_082_844_800, created < 1 << 40 else { return nil }
        return PhotoDate(utcSeconds: Int64(created) - 2_082_844_800)
    }

    // MARK: Texts

    private static func apply(_ texts: QuickTimeMetadata, createdAt: PhotoDate?, to photo: inout PhotoMetadata) {
        func field(_ text: String?) -> String? { PhotoText.field(text) }
        // A day without a time of day says less than the header.
        let day = texts.first("©day")
        let (isMoment, date) = (day.map { $0.contains(":") } ?? false, day.flatMap { PhotoDate(parsing: $0) })
        photo.dateTaken =
            texts.first("com.apple.quicktime.creationdate").flatMap { PhotoDate(parsing: $0) }
            ?? (isMoment ? date : nil) ?? createdAt ?? date
        photo.cameraMake = field(texts.first("com.apple.quicktime.make", "©mak", "com.android.manufacturer"))
        photo.cameraModel = field(texts.first("com.apple.quicktime.model", "©mod", "com.android.model"))
        photo.title = field(texts.first("com.apple.quicktime.title", "©nam"))
        photo.caption = field(texts.first("com.apple.quicktime.description", "©des"))
        photo.livePhotoIdentifier = field(texts.first("com.apple.quicktime.content.identifier"))
        if let place = texts.first("com.apple.quicktime.location.ISO6709", "©xyz").flatMap(PhotoPlace.iso6709) {
            (photo.gpsLatitude, photo.gpsLongitude, photo.gpsAltitude) = place
        }
        var tags = TagCollection()
        for (key, value) in texts.texts { tags.add(key, value) }
        photo.tags = tags.tags
        photo.isShortened = photo.isShortened || tags.isShortened
    }
}
