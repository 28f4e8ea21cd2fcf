import BackupCore

/// Makes names of folders from texts that come from cards and people: valid on every file system, FAT as well.
enum LabelName {
    static let lengthLimitBytes = 200
    private static let decodingLimit = 5
    private static let untitled = "untitled"
    private static let forbidden: Set<UnicodeScalar> = ["/", "\\", "\"", "*", ":", "<", ">", "?", "|"]
    /// Names that Windows has for devices, with any extension.
    private static let devices: [NamePattern] = ["CON", "PRN", "AUX", "NUL", "COM#", "LPT#"]

    /// - Parameter reservedBytes: of the limit, for what is added later.
    /// - Returns: at most 200 bytes; `untitled` for a text of which nothing is left.
    static func sanitized(_ text: String, reservedBytes: Int = 0) -> String {
        var kept = String.UnicodeScalarView()
        for scalar in decoded(text).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: continue
            // They turn the direction of text, so that a name does not look as it is.
            case .format where (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value): continue
            default: kept.append(forbidden.contains(scalar) ? "_" : scalar)
            }
        }
        var name = trimmed(shortened(String(kept), to: lengthLimitBytes - reservedBytes))
        let stem = name.prefix { $0 != "." }
        if devices.contains(where: { $0.matches(NamePattern.key(stem.utf8)) }) { name = "_\(name)" }
        return name.isEmpty ? untitled : name
    }

    /// Without percent escapes, also of percent signs. An escape that is none stays.
    private static func decoded(_ text: String) -> String {
        var text = text
        for _ in 0..<decodingLimit {
            let next = decodedOnce(text)
            if next == text { break }
            text = next
        }
        return text
    }

    private static func decodedOnce(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var position = 0
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "%"), position + 2 < bytes.count,
                let value = Hexadecimal.decode(bytes[(position + 1)...(position + 2)])
            {
                result += value
                position += 3
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return String(validating: result, as: UTF8.self) ?? text
    }

    /// Without spaces around it, without dots at its end, which Windows cuts off, and without those that would hide it.
    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while let first = text.first, first.isWhitespace || first == "." { text.removeFirst() }
        while let last = text.last, last.isWhitespace || last == "." { text.removeLast() }
        return String(text)
    }

    /// Does not split a character.
    private static func shortened(_ text: String, to limit: Int) -> String {
        var result = ""
        var count = 0
        for character in text {
            count += character.utf8.count
            guard count <= limit else { break }
            result.append(character)
        }
        return result
    }
}

/// The folders of a labelled copy, below a destination.
struct LabelFolders: Sendable {
    /// Numbers have three digits, and more when those are used up.
    private static let digitCount = 3
    private static let numberReserveBytes = 12

    private let group: FileName?
    private let stem: String
    private let separator: String
    let isNumbered: Bool

    /// - Parameters:
    ///   - source: the name of the card's folder, or of its volume.
    ///   - card: what recorded it.
    init(_ settings: CameraLabelSettings, source: FileName, card: CameraCard) {
        // A guess is not written into the name of a folder.
        let camera = Self.joined(LabelName.sanitized(card.confidence == .low ? CameraType.generic.rawValue : card.name))
        let reserved = settings.isNumbered ? Self.numberReserveBytes : 0
        let label = settings.text.map { LabelName.sanitized($0, reservedBytes: LabelName.lengthLimitBytes / 2) } ?? camera
        let name = LabelName.sanitized(source.description, reservedBytes: label.utf8.count + 1 + reserved)
        let parts = settings.position == .prefix ? [label, name] : [name, label]
        stem = LabelName.sanitized(parts.joined(separator: settings.separator.text), reservedBytes: reserved)
        separator = settings.separator.text
        isNumbered = settings.isNumbered
        group = settings.isGroupedByCamera ? FileName(camera) : nil
    }

    /// The names of a camera have no spaces in a label: `Sony-FX6`.
    private static func joined(_ name: String) -> String {
        name.split(whereSeparator: \.isWhitespace).joined(separator: "-")
    }

    /// - Parameter number: of a numbered label, from 1.
    /// - Returns: the components of the path.
    func path(_ number: Int) -> [FileName] {
        (group.map { [$0] } ?? []) + [FileName(isNumbered ? "\(stem)\(separator)\(Self.digits(number))" : stem)]
    }

    private static func digits(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}
