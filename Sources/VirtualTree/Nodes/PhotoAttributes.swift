import Photos

/// What a photo says of itself, as extended attributes of its file.
enum PhotoAttributes {
    /// No other attribute of a file is shown under such a name.
    static let prefix = "user.photo."
    /// `1` for a starred photo of `live/media`; it can be set and removed.
    static let starredName = "user.backupfs.starred"
    /// How far the upload of a starred photo is.
    static let statusName = "user.backupfs.status"

    static func attributes(of record: PhotoRecord) -> [(name: String, value: String)] {
        let fields = record.fields
        var values: [(String, String?)] = [
            ("taken", fields[.dateTaken]), ("camera", record.camera), ("lens", fields[.lensModel]),
            ("width", fields[.pixelWidth]), ("height", fields[.pixelHeight]), ("rating", fields[.rating]),
            ("title", fields[.title]), ("duration", fields[.durationSeconds]), ("md5", record.md5?.hexadecimal),
        ]
        if let latitude = fields[.gpsLatitude], let longitude = fields[.gpsLongitude] {
            values.append(("gps", "\(latitude),\(longitude)"))
        }
        // A NUL would end the value for programs that read it.
        return values.compactMap { name, value in value.map { (prefix + name, $0.filter { $0 != "\0" }) } }
    }
}
