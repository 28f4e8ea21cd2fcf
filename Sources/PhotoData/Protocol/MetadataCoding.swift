import BackupCore
import SystemIO

/// The fields of an answer. Each has its number, a 32-bit length and its bytes, in ascending order; what is unknown is left out.
private enum Field: UInt8, CaseIterable {
    case mediaType = 1
    case contentType, dateTaken, pixelWidth, pixelHeight, orientation, cameraMake, cameraModel, lensModel, exposureTime, fNumber
    case isoSpeed, focalLength, isFlashFired, gpsLatitude, gpsLongitude, gpsAltitude, rating, title, caption, keywords
    case livePhotoIdentifier, durationSeconds, tags, isShortened
}

extension PhotoMetadata {
    /// For the program.
    public var encoded: [UInt8] {
        var fields = FieldWriter()
        fields.put(.mediaType, mediaType.rawValue)
        fields.put(.contentType, contentType)
        if let date = dateTaken { fields.put(.dateTaken, Self.encoded(date)) }
        fields.put(.pixelWidth, pixelWidth.map { UInt32($0) })
        fields.put(.pixelHeight, pixelHeight.map { UInt32($0) })
        fields.put(.orientation, orientation.map { UInt8($0) })
        fields.put(.cameraMake, cameraMake)
        fields.put(.cameraModel, cameraModel)
        fields.put(.lensModel, lensModel)
        if let time = exposureTime {
            var writer = ByteWriter()
            writer.append(time.numerator)
            writer.append(time.denominator)
            fields.put(.exposureTime, writer.bytes)
        }
        fields.put(.fNumber, fNumber)
        fields.put(.isoSpeed, isoSpeed.map { UInt32($0) })
        fields.put(.focalLength, focalLength)
        fields.put(.isFlashFired, isFlashFired.map { UInt8($0 ? 1 : 0) })
        fields.put(.gpsLatitude, gpsLatitude)
        fields.put(.gpsLongitude, gpsLongitude)
        fields.put(.gpsAltitude, gpsAltitude)
        fields.put(.rating, rating.map { Int8($0) })
        fields.put(.title, title)
        fields.put(.caption, caption)
        if !keywords.isEmpty { fields.put(.keywords, Self.encoded(keywords)) }
        fields.put(.livePhotoIdentifier, livePhotoIdentifier)
        fields.put(.durationSeconds, durationSeconds)
        if !tags.isEmpty { fields.put(.tags, Self.encoded(tags.flatMap { [$0.key, $0.value] })) }
        fields.put(.isShortened, UInt8(isShortened ? 1 : 0))
        return fields.writer.bytes
    }

    private static func encoded(_ texts: [String]) -> [UInt8] {
        var writer = ByteWriter()
        for text in texts { writer.append(text) }
        return writer.bytes
    }

    private static func encoded(_ date: PhotoDate) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(Int16(date.local.year))
        for part in [date.local.month, date.local.day, date.local.hour, date.local.minute, date.local.second] {
            writer.append(UInt8(part))
        }
        writer.append(date.nanoseconds ?? .max)
        writer.append(Int16(date.offsetMinutes ?? Int(Int16.max)))
        return writer.bytes
    }

    // MARK: Decoding

    /// - Throws: `damagedContent` for anything that the helper, as it was built, cannot have written.
    public init(decoding bytes: [UInt8]) throws(BackupError) {
        do throws(BackupError) {
            let fields = try FieldReader(bytes)
            guard let mediaType = MediaType(rawValue: UInt8(try fields.number(.mediaType, 1...2, UInt8.self) ?? 0)),
                let contentType = try fields.text(.contentType, limit: 64),
                contentType.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !contentType.isEmpty
            else { throw MediaAnswer.malformed }
            self.init(mediaType, contentType: contentType)
            dateTaken = try fields.date()
            pixelWidth = try fields.number(.pixelWidth, PhotoLimits.pixels, UInt32.self)
            pixelHeight = try fields.number(.pixelHeight, PhotoLimits.pixels, UInt32.self)
            orientation = try fields.number(.orientation, 1...8, UInt8.self)
            cameraMake = try fields.text(.cameraMake)
            cameraModel = try fields.text(.cameraModel)
            lensModel = try fields.text(.lensModel)
            exposureTime = try fields.fraction()
            fNumber = try fields.double(.fNumber, 0...10_000_000)
            isoSpeed = try fields.number(.isoSpeed, 1...100_000_000, UInt32.self)
            focalLength = try fields.double(.focalLength, 0...10_000_000)
            isFlashFired = try fields.number(.isFlashFired, 0...1, UInt8.self).map { $0 == 1 }
            gpsLatitude = try fields.double(.gpsLatitude, -90...90)
            gpsLongitude = try fields.double(.gpsLongitude, -180...180)
            gpsAltitude = try fields.double(.gpsAltitude, PhotoLimits.altitudeMetres)
            rating = try fields.number(.rating, -1...5, Int8.self)
            title = try fields.text(.title)
            caption = try fields.text(.caption)
            keywords = try fields.texts(.keywords, count: PhotoLimits.keywordCount, limits: [PhotoLimits.keywordBytes])
            livePhotoIdentifier = try fields.text(.livePhotoIdentifier)
            durationSeconds = try fields.double(.durationSeconds, PhotoLimits.durationSeconds)
            let texts = try fields.texts(
                .tags, count: 2 * PhotoLimits.tagCount, limits: [PhotoLimits.tagKeyBytes, PhotoLimits.tagValueBytes])
            guard texts.count.isMultiple(of: 2), texts.reduce(0, { $0 + $1.utf8.count }) <= PhotoLimits.tagBytes else {
                throw MediaAnswer.malformed
            }
            tags = stride(from: 0, to: texts.count, by: 2).map { PhotoTag(key: texts[$0], value: texts[$0 + 1]) }
            isShortened = try fields.number(.isShortened, 0...1, UInt8.self) == 1
            guard (gpsLatitude == nil) == (gpsLongitude == nil), (pixelWidth == nil) == (pixelHeight == nil) else {
                throw MediaAnswer.malformed
            }
        } catch {
            throw MediaAnswer.malformed
        }
    }
}

private struct FieldWriter {
    var writer = ByteWriter()

    mutating func put(_ field: Field, _ bytes: [UInt8]) {
        writer.append(field.rawValue)
        writer.append(lengthPrefixed: bytes)
    }

    mutating func put(_ field: Field, _ text: String?) {
        if let text { put(field, Array(text.utf8)) }
    }

    mutating func put(_ field: Field, _ number: (some FixedWidthInteger)?) {
        guard let number else { return }
        var writer = ByteWriter()
        writer.append(number)
        put(field, writer.bytes)
    }

    mutating func put(_ field: Field, _ number: Double?) { put(field, number?.bitPattern) }
}

/// Takes the fields apart, and checks each when it is asked for.
private struct FieldReader {
    private var values: [Field: ArraySlice<UInt8>] = [:]

    init(_ bytes: [UInt8]) throws(BackupError) {
        var reader = ByteReader(bytes)
        var last: UInt8 = 0
        while !reader.isAtEnd {
            let number: UInt8 = try reader.read()
            // In ascending order: none comes twice.
            guard number > last, let field = Field(rawValue: number) else { throw MediaAnswer.malformed }
            values[field] = try reader.readLengthPrefixed()
            last = number
        }
    }

    func number<Value: FixedWidthInteger>(
        _ field: Field, _ range: ClosedRange<Int>, _: Value.Type
    ) throws(BackupError) -> Int? {
        guard let bytes = values[field] else { return nil }
        var reader = ByteReader(bytes)
        let value = Int(clamping: try reader.read(Value.self))
        guard reader.isAtEnd, range.contains(value) else { throw MediaAnswer.malformed }
        return value
    }

    func double(_ field: Field, _ range: ClosedRange<Double>) throws(BackupError) -> Double? {
        guard let bytes = values[field] else { return nil }
        var reader = ByteReader(bytes)
        let value = Double(bitPattern: try reader.read())
        // A NaN is in no range.
        guard reader.isAtEnd, range.contains(value) else { throw MediaAnswer.malformed }
        return value
    }

    func text(_ field: Field, limit: Int = PhotoLimits.textBytes) throws(BackupError) -> String? {
        guard let bytes = values[field] else { return nil }
        return try Self.text(bytes, limit: limit)
    }

    private static func text(_ bytes: ArraySlice<UInt8>, limit: Int) throws(BackupError) -> String {
        guard bytes.count <= limit, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw MediaAnswer.malformed
        }
        return text
    }

    /// - Parameter limits: of the first text, the second, and so on; then from the first again.
    func texts(_ field: Field, count: Int, limits: [Int]) throws(BackupError) -> [String] {
        guard let bytes = values[field] else { return [] }
        var reader = ByteReader(bytes)
        var texts: [String] = []
        while !reader.isAtEnd {
            guard texts.count < count else { throw MediaAnswer.malformed }
            texts.append(try Self.text(reader.readLengthPrefixed(), limit: limits[texts.count % limits.count]))
        }
        return texts
    }

    func fraction() throws(BackupError) -> Fraction? {
        guard let bytes = values[.exposureTime] else { return nil }
        var reader = ByteReader(bytes)
        let fraction = Fraction(numerator: try reader.read(), denominator: try reader.read())
        guard reader.isAtEnd, fraction.numerator > 0, fraction.denominator > 0 else { throw MediaAnswer.malformed }
        return fraction
    }

    func date() throws(BackupError) -> PhotoDate? {
        guard let bytes = values[.dateTaken] else { return nil }
        var reader = ByteReader(bytes)
        let year = Int(try reader.read(Int16.self))
        var parts: [Int] = []
        for _ in 0..<5 { parts.append(Int(try reader.read(UInt8.self))) }
        let nanoseconds: UInt32 = try reader.read()
        let offset: Int16 = try reader.read()
        let local = LocalDateTime(
            year: year, month: parts[0], day: parts[1], hour: parts[2], minute: parts[3], second: parts[4])
        guard reader.isAtEnd,
            let date = PhotoDate(
                local: local, nanoseconds: nanoseconds == .max ? nil : nanoseconds,
                offsetMinutes: offset == .max ? nil : Int(offset))
        else { throw MediaAnswer.malformed }
        return date
    }
}
