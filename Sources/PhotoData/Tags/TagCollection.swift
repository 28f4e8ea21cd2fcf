/// All tags of one file, as exiv2 gives them, within the bounds of an answer.
public struct TagCollection: Sendable {
    private var values: [String: [String]] = [:]
    /// In the order of the file's sections.
    public private(set) var tags: [PhotoTag] = []
    /// Whether a tag was left out or cut.
    public private(set) var isShortened = false
    /// Of Apple's maker note.
    private(set) var livePhotoIdentifier: String?
    private var byteCount = 0

    public init() {}

    /// The first value of a tag.
    func first(_ keys: String...) -> String? { keys.lazy.compactMap { values[$0]?.first }.first }

    /// All values of a list.
    func all(_ key: String) -> [String] { values[key] ?? [] }

    /// The MIME type of a RAW format that is TIFF but for a few tags; `nil` for a TIFF.
    public var rawContentType: String? {
        if values["Exif.Image.DNGVersion"] != nil { return "image/x-adobe-dng" }
        let compressions = Set(
            values.filter { $0.key.hasSuffix(".Compression") }.flatMap(\.value).compactMap { Int($0) })
        // Sony's and Nikon's own compressions; a TIFF of their programs has another one.
        if compressions.contains(32_767) { return "image/x-sony-arw" }
        if compressions.contains(34_713) { return "image/x-nikon-nef" }
        // Without them, the values of a sensor (32803 is a mosaic of colours) are no picture yet.
        let isOfSensor = values.contains { key, values in
            key.hasSuffix(".PhotometricInterpretation") && values.contains { $0 == "32803" || $0 == "34892" }
        }
        guard isOfSensor else { return nil }
        let make = first("Exif.Image.Make")?.uppercased() ?? ""
        if make.hasPrefix("NIKON") { return "image/x-nikon-nef" }
        return make.hasPrefix("SONY") ? "image/x-sony-arw" : "image/x-dcraw"
    }

    /// Whether there is any tag of XMP.
    public var hasXMP: Bool { values.keys.contains { $0.hasPrefix("Xmp.") } }

    /// Whether there is any tag of Exif.
    public var hasExif: Bool { values.keys.contains { $0.hasPrefix("Exif.") } }

    /// Adds the tags of another collection whose names begin so.
    public mutating func add(_ other: TagCollection, prefix: String) {
        for tag in other.tags where tag.key.hasPrefix(prefix) { add(tag.key, tag.value) }
        livePhotoIdentifier = livePhotoIdentifier ?? other.livePhotoIdentifier
    }

    /// A text; each element of a list is added under the same name, and each of an alternative in languages.
    public mutating func add(_ key: String, _ value: String) {
        if value.hasPrefix("lang=\"") {
            for text in PhotoText.alternatives(value) { add(key, text, isField: true) }
        } else {
            add(key, value, isField: true)
        }
    }

    /// - Parameter isField: whether fields are made of it.
    private mutating func add(_ key: String, _ value: String, isField: Bool) {
        let key = PhotoText.shortened(key, limitBytes: PhotoLimits.tagKeyBytes)
        let cut = PhotoText.shortened(value, limitBytes: PhotoLimits.tagValueBytes)
        // What fields are made of is kept even when the list of tags is full; a file with that many values of one tag is hostile.
        if isField, values[key, default: []].count < PhotoLimits.keywordCount, values.count < 2 * PhotoLimits.tagCount {
            values[key, default: []].append(cut)
        }
        guard tags.count < PhotoLimits.tagCount, byteCount + key.utf8.count + cut.utf8.count <= PhotoLimits.tagBytes else {
            isShortened = true
            return
        }
        if cut.utf8.count < value.utf8.count, value.utf8.count > PhotoLimits.tagValueBytes { isShortened = true }
        byteCount += key.utf8.count + cut.utf8.count
        // A zero byte would end the text in other programs.
        tags.append(PhotoTag(key: key.filter { $0 != "\0" }, value: cut.filter { $0 != "\0" }))
    }

    /// A binary value: only its length is kept, of a maker note the identifier, and of a title of Windows its text.
    public mutating func add(_ key: String, bytes: [UInt8]) {
        if key == "Exif.Photo.MakerNote" {
            livePhotoIdentifier = livePhotoIdentifier ?? AppleMakerNote.livePhotoIdentifier(bytes)
        }
        if key.hasPrefix("Exif.Image.XP") { return add(key, PhotoText.decoded(utf16: bytes)) }
        add(key, "(\(bytes.count) bytes)", isField: false)
    }
}
