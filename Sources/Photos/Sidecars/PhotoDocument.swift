import BackupCore
import Formats
import PhotoData

/// What a photo or video says of itself, as a document: the output of `photo-info`, and the sidecar of a photo in backups.
public struct PhotoDocument: Sendable {
    private let photo: PhotoMetadata
    private let hasTags: Bool

    /// - Parameter hasTags: whether with all tags, those of the fields included.
    public init(photo: PhotoMetadata, hasTags: Bool) {
        self.photo = photo
        self.hasTags = hasTags
    }

    /// The fields, in the order of the page on photos. What the file does not say is null.
    public var json: OrderedJSON {
        let fields = self.fields
        var members = fields.map { OrderedJSON.Member($0.name, $0.value) }
        if hasTags {
            members.append(
                OrderedJSON.Member(
                    "tags", .array(photo.tags.map { .object([.init("key", .text($0.key)), .init("value", .text($0.value))]) })))
            members.append(OrderedJSON.Member("tags_shortened", .boolean(photo.isShortened)))
        }
        return .object(members)
    }

    /// The fields that are known, one a line, under the same names.
    public var text: String {
        var lines: [(name: String, value: String)] = []
        for (name, value) in fields {
            switch value {
            case .null: continue
            case .text(let text): lines.append((name, text))
            case .array(let values):
                let texts = values.compactMap { value -> String? in
                    if case .text(let text) = value { text } else { nil }
                }
                if !texts.isEmpty { lines.append((name, texts.joined(separator: ", "))) }
            default: lines.append((name, String(decoding: value.compactText, as: UTF8.self)))
            }
        }
        if hasTags { lines += photo.tags.map { (Self.oneLine($0.key), $0.value) } }
        let width = lines.reduce(0) { max($0, min($1.name.count, 40)) }
        return lines.map { line in
            "  \(line.name)\(String(repeating: " ", count: max(0, width - line.name.count)))  \(Self.oneLine(line.value))\n"
        }.joined()
    }

    /// A caption, and the name of a tag in a video, may have several lines, which would look like fields.
    private static func oneLine(_ text: String) -> String {
        let kinds: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { kinds.contains($0.properties.generalCategory) ? " " : $0 }))
    }

    var fields: [(name: String, value: OrderedJSON)] {
        func text(_ text: String?) -> OrderedJSON { text.map { .text($0) } ?? .null }
        func whole(_ number: Int?) -> OrderedJSON { number.map { .integer(Int64($0)) } ?? .null }
        func decimal(_ number: Double?) -> OrderedJSON { number.map { .decimal(Self.decimalText($0)) } ?? .null }
        return [
            ("media_type", .text(photo.mediaType == .image ? "image" : "video")), ("content_type", .text(photo.contentType)),
            ("date_taken", text(photo.dateTaken?.text)), ("pixel_width", whole(photo.pixelWidth)),
            ("pixel_height", whole(photo.pixelHeight)), ("orientation", whole(photo.orientation)),
            ("camera_make", text(photo.cameraMake)), ("camera_model", text(photo.cameraModel)),
            ("lens_model", text(photo.lensModel)),
            ("exposure_time", text(photo.exposureTime.map { "\($0.numerator)/\($0.denominator)" })),
            ("f_number", decimal(photo.fNumber)), ("iso_speed", whole(photo.isoSpeed)),
            ("focal_length", decimal(photo.focalLength)), ("flash_fired", photo.isFlashFired.map { .boolean($0) } ?? .null),
            ("gps_latitude", decimal(photo.gpsLatitude)), ("gps_longitude", decimal(photo.gpsLongitude)),
            ("gps_altitude", decimal(photo.gpsAltitude)), ("rating", whole(photo.rating)), ("title", text(photo.title)),
            ("caption", text(photo.caption)), ("keywords", .array(photo.keywords.map { .text($0) })),
            ("live_photo_identifier", text(photo.livePhotoIdentifier)), ("duration_seconds", decimal(photo.durationSeconds)),
        ]
    }

    /// The shortest text that is the same number, and for whole ones without a point.
    private static func decimalText(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : number.description
    }
}
