import BackupCore

/// A part of a document that `backupfs-media pages` draws as a PDF. It reads the parts from its standard input: the kind of
/// each, a 32-bit length and that many bytes. The first is `begin`, the last one `end`.
public enum PageElement: Sendable, Equatable {
    /// The title, and when the document was made.
    case begin(title: String, createdAt: Timestamp)
    /// - Parameter level: 1 to 3.
    case heading(level: UInt8, String)
    case paragraph(String)
    /// Stands in a row with the pictures around it.
    case picture(PagePicture)
    case end

    /// Grows with each change. Program and helper are of one build: another version is refused.
    public static let version: UInt8 = 1
    /// Of what follows the length.
    public static let limitBytes = 1 << 20
    /// The kind and the length in front of each part.
    public static let headByteCount = 5
    /// Longer texts are cut.
    public static let textLimitBytes = 16_384
    /// The levels of headings.
    public static let levels: ClosedRange<UInt8> = 1...3

    private enum Kind: UInt8 {
        case begin = 1
        case heading, paragraph, picture, end
    }

    private var kind: Kind {
        switch self {
        case .begin: .begin
        case .heading: .heading
        case .paragraph: .paragraph
        case .picture: .picture
        case .end: .end
        }
    }

    /// With its kind and length in front.
    public var encoded: [UInt8] {
        var content = ByteWriter()
        switch self {
        case .begin(let title, let createdAt):
            content.append(Self.version)
            content.append(createdAt)
            content.append(Self.fitting(title))
        case .heading(let level, let text):
            content.append(level)
            content.append(Self.fitting(text))
        case .paragraph(let text): content.append(Self.fitting(text))
        case .picture(let picture): picture.append(to: &content)
        case .end: break
        }
        var writer = ByteWriter()
        writer.append(kind.rawValue)
        writer.append(lengthPrefixed: content.bytes)
        return writer.bytes
    }

    static func fitting(_ text: String) -> String { PhotoText.field(text, limitBytes: textLimitBytes) ?? "" }

    /// - Returns: the length of what follows.
    /// - Throws: `damagedContent` for another kind, or more than the limit.
    public static func byteCount(ofHead head: [UInt8]) throws(BackupError) -> Int {
        var reader = ByteReader(head)
        guard head.count == headByteCount, Kind(rawValue: try reader.read()) != nil else { throw malformed }
        let count = Int(try reader.read(UInt32.self))
        guard count <= limitBytes else { throw malformed }
        return count
    }

    /// - Throws: `damagedContent` for anything that `encoded` does not write.
    public init(head: [UInt8], content: [UInt8]) throws(BackupError) {
        do throws(BackupError) {
            guard let kind = head.first.flatMap({ Kind(rawValue: $0) }) else { throw Self.malformed }
            var reader = ByteReader(content)
            switch kind {
            case .begin:
                guard try reader.read(UInt8.self) == Self.version else { throw Self.malformed }
                let (seconds, nanoseconds) = (try reader.read(Int64.self), try reader.read(UInt32.self))
                let time = Timestamp(seconds: seconds)
                guard nanoseconds < 1_000_000_000, time.isWithinCalendar else { throw Self.malformed }
                let createdAt = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
                self = .begin(title: try Self.text(&reader), createdAt: createdAt)
            case .heading:
                let level: UInt8 = try reader.read()
                guard Self.levels.contains(level) else { throw Self.malformed }
                self = .heading(level: level, try Self.text(&reader))
            case .paragraph: self = .paragraph(try Self.text(&reader))
            case .picture: self = .picture(try PagePicture(&reader))
            case .end: self = .end
            }
            guard reader.isAtEnd else { throw Self.malformed }
        } catch {
            throw Self.malformed
        }
    }

    static func text(_ reader: inout ByteReader) throws(BackupError) -> String {
        let bytes = try reader.readLengthPrefixed()
        guard bytes.count <= textLimitBytes, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw malformed
        }
        return text
    }

    static let malformed = BackupError(.damagedContent, "the document is malformed")
}

/// A picture of a document, with lines of text below it.
public struct PagePicture: Sendable, Equatable {
    /// What is embedded as it is, if it has a `header`; empty for a picture that is not there.
    public let jpeg: [UInt8]
    /// Instead of the picture.
    public let placeholder: String
    /// The first one is its name.
    public let lines: [String]

    /// Further ones are left out.
    public static let lineLimit = 16
    /// Of a side.
    public static let pixelLimit = 2_048

    public init(jpeg: [UInt8], placeholder: String, lines: [String]) {
        (self.jpeg, self.placeholder, self.lines) = (jpeg, placeholder, Array(lines.prefix(Self.lineLimit)))
    }

    /// The header of the JPEG.
    /// - Returns: `nil` for none, and for what is not embedded: another format, or too many pixels.
    public var header: JPEGHeader? {
        JPEGHeader(jpeg).flatMap { max($0.width, $0.height) <= Self.pixelLimit ? $0 : nil }
    }

    fileprivate func append(to writer: inout ByteWriter) {
        writer.append(PageElement.fitting(placeholder))
        writer.append(UInt8(lines.count))
        for line in lines { writer.append(PageElement.fitting(line)) }
        writer.append(lengthPrefixed: header == nil ? [] : jpeg)
    }

    fileprivate init(_ reader: inout ByteReader) throws(BackupError) {
        placeholder = try PageElement.text(&reader)
        let count = Int(try reader.read(UInt8.self))
        guard count <= Self.lineLimit else { throw PageElement.malformed }
        var lines: [String] = []
        for _ in 0..<count { lines.append(try PageElement.text(&reader)) }
        self.lines = lines
        jpeg = Array(try reader.readLengthPrefixed())
        guard jpeg.isEmpty || header != nil else { throw PageElement.malformed }
    }
}

/// How `backupfs-media pages` has ended: its exit code. Its last line on standard error says more.
public enum PageOutcome: Int32, Sendable {
    /// The line has the number of pages and of bytes.
    case done = 0
    /// It cannot protect itself, and draws nothing.
    case refused = 10
    /// The document is malformed.
    case malformed = 11
    /// The output cannot be written. The line has the errno.
    case unwritable = 12
    /// The libraries could not draw.
    case failed = 13

    /// In front of the line.
    public static let prefix = "backupfs-media pages: "
}
