import SystemIO

/// The fields of a photo from its tags.
public enum PhotoFields {
    /// - Parameters:
    ///   - width: as stored; 0 when it is unknown.
    ///   - isUpright: whether the size is that of the picture as it is looked at, whatever the tag of the orientation says.
    public static func metadata(
        from tags: TagCollection, contentType: String, width: Int, height: Int, isUpright: Bool
    ) -> PhotoMetadata {
        var photo = PhotoMetadata(.image, contentType: contentType)
        photo.tags = tags.tags
        photo.isShortened = tags.isShortened
        photo.orientation = orientation(tags)
        setSize(&photo, width, height, isUpright: isUpright)
        photo.dateTaken = dateTaken(tags)
        photo.cameraMake = PhotoText.field(tags.first("Exif.Image.Make", "Xmp.tiff.Make"))
        photo.cameraModel = PhotoText.field(tags.first("Exif.Image.Model", "Xmp.tiff.Model"))
        let lens = PhotoText.field(tags.first("Exif.Photo.LensModel", "Xmp.exifEX.LensModel", "Xmp.aux.Lens"))
        // Cameras write dashes for a lens that they do not know.
        photo.lensModel = lens?.allSatisfy { $0 == "-" } == true ? nil : lens
        setExposure(&photo, tags)
        setPlace(&photo, tags)
        setDescription(&photo, tags)
        photo.livePhotoIdentifier = tags.livePhotoIdentifier
        return photo
    }

    /// How the stored picture is to be turned and mirrored: 1 to 8.
    public static func orientation(_ tags: TagCollection) -> Int? {
        PhotoNumbers.whole(tags.first("Exif.Image.Orientation", "Xmp.tiff.Orientation")).flatMap {
            (1...8).contains($0) ? $0 : nil
        }
    }

    private static func setSize(_ photo: inout PhotoMetadata, _ width: Int, _ height: Int, isUpright: Bool) {
        guard PhotoLimits.pixels.contains(width), PhotoLimits.pixels.contains(height) else { return }
        let isTurned = !isUpright && (photo.orientation ?? 1) >= 5
        (photo.pixelWidth, photo.pixelHeight) = isTurned ? (height, width) : (width, height)
    }

    // MARK: The time

    /// The time on the wall clock, from the tag that is closest to the moment when it was taken. The zone is that tag's own.
    static func dateTaken(_ tags: TagCollection) -> PhotoDate? {
        let candidates: [(date: String, subseconds: String, offset: String)] = [
            ("Exif.Photo.DateTimeOriginal", "Exif.Photo.SubSecTimeOriginal", "Exif.Photo.OffsetTimeOriginal"),
            ("Exif.Image.DateTimeOriginal", "Exif.Photo.SubSecTimeOriginal", "Exif.Photo.OffsetTimeOriginal"),
            ("Xmp.exif.DateTimeOriginal", "", ""), ("Xmp.photoshop.DateCreated", "", ""),
            ("Iptc.Application2.DateCreated", "", ""),
            // Of a scan, this is when it was scanned.
            ("Exif.Photo.DateTimeDigitized", "Exif.Photo.SubSecTimeDigitized", "Exif.Photo.OffsetTimeDigitized"),
            ("Xmp.xmp.CreateDate", "", ""),
            ("Exif.Image.DateTime", "Exif.Photo.SubSecTime", "Exif.Photo.OffsetTime"),
        ]
        for candidate in candidates {
            guard let text = tags.first(candidate.date) else { continue }
            // IPTC has the time of day in a tag of its own. exiv2 says +00:00 also for one without a zone.
            if candidate.date == "Iptc.Application2.DateCreated", let time = tags.first("Iptc.Application2.TimeCreated") {
                let local = time.hasSuffix("+00:00") ? time.dropLast(6) : time[...]
                if let date = PhotoDate(parsing: "\(text)T\(local)") { return date }
            }
            let date = PhotoDate(
                parsing: text, subseconds: tags.first(candidate.subseconds),
                offset: PhotoText.field(tags.first(candidate.offset)))
            if let date { return date }
        }
        return nil
    }

    // MARK: The exposure

    private static func setExposure(_ photo: inout PhotoMetadata, _ tags: TagCollection) {
        // The tags of the main picture are those of older RAW formats (TIFF/EP).
        if let time = tags.first("Exif.Photo.ExposureTime", "Exif.Image.ExposureTime", "Xmp.exif.ExposureTime").flatMap({
            PhotoNumbers.fraction($0)
        }),
            time.numerator > 0, time.denominator > 0, time.numerator / time.denominator < 10_000_000
        {
            photo.exposureTime = time
        }
        photo.fNumber = PhotoNumbers.positive(tags.first("Exif.Photo.FNumber", "Exif.Image.FNumber", "Xmp.exif.FNumber"))
        photo.focalLength = PhotoNumbers.positive(
            tags.first("Exif.Photo.FocalLength", "Exif.Image.FocalLength", "Xmp.exif.FocalLength"))
        photo.isoSpeed = isoSpeed(tags)
        photo.isFlashFired = PhotoNumbers.whole(tags.first("Exif.Photo.Flash", "Exif.Image.Flash")).map { $0 & 1 == 1 }
    }

    /// The usual tag has 16 bits: its largest value says that another tag has the speed.
    private static func isoSpeed(_ tags: TagCollection) -> Int? {
        func speed(_ key: String) -> Int? {
            PhotoNumbers.whole(tags.first(key)).flatMap { (1...100_000_000).contains($0) ? $0 : nil }
        }
        let short = ["Exif.Photo.ISOSpeedRatings", "Exif.Image.ISOSpeedRatings", "Xmp.exif.ISOSpeedRatings"].lazy.compactMap(
            speed
        )
        .first
        if let short, short != 65_535 { return short }
        let long = ["Exif.Photo.ISOSpeed", "Exif.Photo.RecommendedExposureIndex", "Exif.Photo.StandardOutputSensitivity"]
        return long.lazy.compactMap(speed).first ?? short
    }

    // MARK: The place

    private static func setPlace(_ photo: inout PhotoMetadata, _ tags: TagCollection) {
        let latitude =
            PhotoPlace.degrees(
                tags.first("Exif.GPSInfo.GPSLatitude"), reference: tags.first("Exif.GPSInfo.GPSLatitudeRef"),
                letters: ("N", "S"), limit: 90)
            ?? PhotoPlace.xmpDegrees(tags.first("Xmp.exif.GPSLatitude"), letters: ("N", "S"), limit: 90)
        let longitude =
            PhotoPlace.degrees(
                tags.first("Exif.GPSInfo.GPSLongitude"), reference: tags.first("Exif.GPSInfo.GPSLongitudeRef"),
                letters: ("E", "W"), limit: 180)
            ?? PhotoPlace.xmpDegrees(tags.first("Xmp.exif.GPSLongitude"), letters: ("E", "W"), limit: 180)
        // One without the other is no place.
        if let latitude, let longitude { (photo.gpsLatitude, photo.gpsLongitude) = (latitude, longitude) }
        if let altitude = tags.first("Exif.GPSInfo.GPSAltitude").flatMap({ PhotoNumbers.fraction($0) })?.value, altitude.isFinite
        {
            // 3 is below the ellipsoid, in Exif 3.0.
            let isBelow = [1, 3].contains(PhotoNumbers.whole(tags.first("Exif.GPSInfo.GPSAltitudeRef")))
            let metres = isBelow ? -altitude : altitude
            if PhotoLimits.altitudeMetres.contains(metres) { photo.gpsAltitude = metres }
        }
    }

    // MARK: What people wrote

    private static func setDescription(_ photo: inout PhotoMetadata, _ tags: TagCollection) {
        let rating = tags.first("Xmp.xmp.Rating").flatMap { Double($0) } ?? tags.first("Exif.Image.Rating").flatMap { Double($0) }
        if let rating, (-1...5).contains(rating) { photo.rating = Int(rating.rounded()) }
        photo.title = PhotoText.field(tags.first("Xmp.dc.title", "Iptc.Application2.ObjectName", "Exif.Image.XPTitle"))
        photo.caption = PhotoText.field(
            tags.first(
                "Xmp.dc.description", "Iptc.Application2.Caption", "Exif.Image.ImageDescription", "Exif.Image.XPComment"))
        let windows = (tags.first("Exif.Image.XPKeywords") ?? "").split(separator: ";").map(String.init)
        let keywords = [tags.all("Xmp.dc.subject"), tags.all("Iptc.Application2.Keywords"), windows].first { !$0.isEmpty } ?? []
        photo.keywords = keywords.prefix(PhotoLimits.keywordCount).compactMap {
            PhotoText.field($0, limitBytes: PhotoLimits.keywordBytes)
        }
    }
}
