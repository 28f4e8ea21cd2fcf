import Foundation
import PhotoData
import SystemIO
import TestSupport
import Testing

/// A few hundred photos with random tags, each field of which is what ExifTool says.
@Suite(.rotating(oneIn: 3)) struct ExifToolComparisonTests {
    private static let variantCount = 40

    /// Arguments of ExifTool for one photo. Some of the values are nonsense, as cameras write it.
    private func arguments(_ random: inout SeededGenerator) -> [String] {
        let dates = [
            "2024:05:06 07:08:09", "1999:12:31 23:59:59", "2012:02:29 12:00:00", "0000:00:00 00:00:00", "    :  :     :  :  ",
            "2023:02:29 01:02:03", "2016:11:06 01:30:00",
        ]
        let choices: [[String?]] = [
            dates.map { "-ExifIFD:DateTimeOriginal#=\($0)" } + [nil], dates.map { "-ExifIFD:CreateDate#=\($0)" } + [nil, nil],
            dates.map { "-IFD0:ModifyDate#=\($0)" } + [nil],
            ["+02:00", "-03:30", "+14:00", "Z"].map { "-ExifIFD:OffsetTimeOriginal#=\($0)" } + [nil, nil],
            ["25", "007", "999999"].map { "-ExifIFD:SubSecTimeOriginal=\($0)" } + [nil, nil],
            ["+01:00"].map { "-ExifIFD:OffsetTimeDigitized=\($0)" } + [nil],
            ["Canon", "NIKON CORPORATION  ", "Äcme"].map { "-IFD0:Make=\($0)" } + [nil],
            ["EOS R5", "  Z 6_2", "日本"].map { "-IFD0:Model=\($0)" } + [nil],
            ["EF 50mm f/1.8", "XF35mm"].map { "-ExifIFD:LensModel=\($0)" } + [nil],
            ["1/8000", "1/125", "30", "0.5"].map { "-ExifIFD:ExposureTime=\($0)" } + [nil],
            ["1.2", "2.8", "16"].map { "-ExifIFD:FNumber=\($0)" } + [nil],
            ["50", "200", "51200"].map { "-ExifIFD:ISO=\($0)" } + [nil],
            ["35", "4.25", "600"].map { "-ExifIFD:FocalLength=\($0)" } + [nil],
            ["0", "1", "16", "25", "95"].map { "-ExifIFD:Flash#=\($0)" } + [nil],
            (1...8).map { "-IFD0:Orientation#=\($0)" } + [nil, nil],
            (0...5).map { "-XMP-xmp:Rating=\($0)" } + ["-XMP-xmp:Rating=-1", nil, nil],
            ["Sunset", "Größe & <b>", "日の出"].map { "-XMP-dc:Title=\($0)" } + [nil],
            ["A caption", "two  blanks"].map { "-XMP-dc:Description=\($0)" } + [nil],
            ["one", "naïve"].map { "-XMP-dc:Subject=\($0)" } + [nil],
            ["-IFD0:ImageDescription=scan", nil, nil],
        ]
        var arguments = choices.compactMap { $0.randomElement(using: &random) ?? nil }
        if Int.random(in: 0..<3, using: &random) > 0 {
            let latitude = Double.random(in: 0...90, using: &random)
            let longitude = Double.random(in: 0...180, using: &random)
            arguments += [
                "-GPS:GPSLatitude=\(latitude)", "-GPS:GPSLatitudeRef=\(["N", "S"].randomElement(using: &random) ?? "N")",
                "-GPS:GPSLongitude=\(longitude)", "-GPS:GPSLongitudeRef=\(["E", "W"].randomElement(using: &random) ?? "E")",
                "-GPS:GPSAltitude=\(Double.random(in: 0...8000, using: &random).rounded())",
                "-GPS:GPSAltitudeRef#=\(Int.random(in: 0...1, using: &random))",
            ]
        }
        return arguments
    }

    @Test func `each field is what ExifTool says`() throws {
        let folder = try TemporaryFolder(inMemory: true)
        defer { withExtendedLifetime(folder) {} }
        try PhotoFixtures.makeBases(in: folder.path)
        var random = SeededGenerator(seed: 21)
        var bases: [String: [UInt8]] = [:]
        for format in PhotoFixtures.formats { bases[format] = try readFile(folder("base.\(format)")) }
        var files: [String] = []
        var commands: [[String]] = []
        for variant in 0..<Self.variantCount {
            let arguments = arguments(&random)
            for format in PhotoFixtures.formats {
                let file = "photo\(variant).\(format)"
                files.append(file)
                // ExifTool changes WebP, but makes none under another name.
                try writeFile(folder(file), try #require(bases[format]))
                commands.append(arguments + ["-overwrite_original", file])
            }
        }
        try PhotoFixtures.exifTool(commands, in: folder.path)
        let expected = try PhotoFixtures.exifTool(reading: files, in: folder.path)
        #expect(expected.count == files.count && files.count >= 200)

        let helper = try PhotoFixtures.helper()
        var table: [String: (agreed: Int, of: Int)] = [:]
        for file in files {
            let photo = try PhotoFixtures.found(folder(file), helper)
            let tags = ExifToolTags(try #require(expected[file]))
            for (field, ours, theirs) in compared(photo, tags, file) {
                var row = table[field] ?? (0, 0)
                row.of += 1
                if ours == theirs { row.agreed += 1 }
                table[field] = row
                #expect(ours == theirs, "\(file): \(field)")
            }
        }
        #expect(table.count == 18)
        print(table.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.agreed) of \($0.value.of)" }.joined(separator: "; "))
    }

    private func compared(
        _ photo: PhotoMetadata, _ tags: ExifToolTags, _ file: String
    ) -> [(field: String, ours: String, theirs: String)] {
        let isHEIF = file.hasSuffix("heic") || file.hasSuffix("avif")
        let isTurned = !isHEIF && (tags.number("EXIF:Orientation") ?? 1) >= 5
        let size = [
            tags.number(
                "File:ImageWidth", "PNG:ImageWidth", "EXIF:ImageWidth", "RIFF:ImageWidth", "QuickTime:ImageWidth",
                "Meta:ImageWidth"),
            tags.number(
                "File:ImageHeight", "PNG:ImageHeight", "EXIF:ImageHeight", "RIFF:ImageHeight", "QuickTime:ImageHeight",
                "Meta:ImageHeight"),
        ]
        let text = { (text: String?) in text ?? "-" }
        let number = { (number: Double?) in number.map { String(format: "%.6g", $0) } ?? "-" }
        var rows: [(String, String, String)] = [
            ("content type", photo.contentType, text(tags.text("File:MIMEType"))),
            ("date taken", text(photo.dateTaken?.text), text(tags.dateTaken)),
            ("width", number(photo.pixelWidth.map(Double.init)), number(size[isTurned ? 1 : 0])),
            ("height", number(photo.pixelHeight.map(Double.init)), number(size[isTurned ? 0 : 1])),
            ("orientation", number(photo.orientation.map(Double.init)), number(tags.number("EXIF:Orientation"))),
            ("make", text(photo.cameraMake), text(tags.trimmed("EXIF:Make"))),
            ("model", text(photo.cameraModel), text(tags.trimmed("EXIF:Model"))),
            ("lens", text(photo.lensModel), text(tags.trimmed("EXIF:LensModel"))),
            ("exposure time", number(photo.exposureTime?.value), number(tags.number("EXIF:ExposureTime"))),
            ("f-number", number(photo.fNumber), number(tags.number("EXIF:FNumber"))),
            ("ISO", number(photo.isoSpeed.map(Double.init)), number(tags.number("EXIF:ISO"))),
            ("focal length", number(photo.focalLength), number(tags.number("EXIF:FocalLength"))),
            (
                "flash", text(photo.isFlashFired.map { "\($0)" }),
                text(tags.number("EXIF:Flash").map { "\(Int($0) & 1 == 1)" })
            ),
            ("latitude", number(photo.gpsLatitude), number(tags.signed("EXIF:GPSLatitude", "S"))),
            ("longitude", number(photo.gpsLongitude), number(tags.signed("EXIF:GPSLongitude", "W"))),
            (
                "altitude", number(photo.gpsAltitude),
                number(tags.number("EXIF:GPSAltitude").map { tags.number("EXIF:GPSAltitudeRef") == 1 ? -$0 : $0 })
            ),
        ]
        rows += [
            ("rating", number(photo.rating.map(Double.init)), number(tags.number("XMP:Rating"))),
            (
                "texts", [photo.title, photo.caption].map(text).joined(separator: "|") + photo.keywords.joined(),
                [tags.text("XMP:Title"), tags.text("XMP:Description") ?? tags.text("EXIF:ImageDescription")].map(text)
                    .joined(separator: "|") + text(tags.text("XMP:Subject")).replacing("-", with: "")
            ),
        ]
        return rows
    }
}

/// One photo in ExifTool's words.
private struct ExifToolTags {
    private let tags: [String: Any]

    init(_ tags: [String: Any]) { self.tags = tags }

    func number(_ names: String...) -> Double? { names.lazy.compactMap { (tags[$0] as? NSNumber)?.doubleValue }.first }

    /// Texts of digits alone are numbers in ExifTool's JSON.
    func text(_ name: String) -> String? {
        if let list = tags[name] as? [String] { return list.joined() }
        return tags[name] as? String ?? (tags[name] as? NSNumber)?.stringValue
    }

    func trimmed(_ name: String) -> String? {
        let text = text(name)?.trimmingCharacters(in: .whitespaces)
        return text?.isEmpty == true ? nil : text
    }

    func signed(_ name: String, _ negative: String) -> Double? {
        number(name).map { text("\(name)Ref") == negative ? -$0 : $0 }
    }

    /// The first date that exists, with the tags that belong to it. Foundation's calendar decides.
    var dateTaken: String? {
        for (name, suffix) in [("DateTimeOriginal", "Original"), ("CreateDate", "Digitized"), ("ModifyDate", "")] {
            guard let text = text("EXIF:\(name)") else { continue }
            let parts = text.split(whereSeparator: { $0 == ":" || $0 == " " }).compactMap { Int($0) }
            var components = DateComponents()
            guard parts.count == 6 else { continue }
            (components.year, components.month, components.day) = (parts[0], parts[1], parts[2])
            (components.hour, components.minute, components.second) = (parts[3], parts[4], parts[5])
            guard components.isValidDate(in: Calendar(identifier: .gregorian)), parts[0] > 0 else { continue }
            var result = String(
                format: "%04d-%02d-%02dT%02d:%02d:%02d", parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
            if let digits = self.text("EXIF:SubSecTime\(suffix)") {
                // ExifTool writes 007 as a text, and 25 as a number.
                result += "." + digits
            }
            if let offset = self.text("EXIF:OffsetTime\(suffix)") { result += offset == "Z" ? "+00:00" : offset }
            return result
        }
        return nil
    }
}
