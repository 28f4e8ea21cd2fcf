import BackupCore

/// A part of a document that `backupfs-media pages` draws as a PDF. It reads the parts from its standard input: the kind of
/// each, a 32-bit length and that many bytes. The first is `begin`, the last one `end`.
public enum PageElement: Sendable, Equatable {
    case begin(PageHead)
    /// - Parameter level: 1 to 3.
    case heading(level: UInt8, String)
    case paragraph(String)
    /// Stands in a row with the pictures around it.
    case picture(PagePicture)
    /// A paragraph that stands out.
    case notice(PageTone, String)
    /// Rows follow. The next part that is no row ends the table.
    case table([PageColumn])
    /// As many cells as the table has columns.
    case row(PageTone, [String])
    case end

    /// Grows with each change. Program and helper are of one build: another version is refused.
    public static let version: UInt8 = 2
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
        case heading, paragraph, picture, end, notice, table, row
    }

    private var kind: Kind {
        switch self {
        case .begin: .begin
        case .heading: .heading
        case .paragraph: .paragraph
        case .picture: .picture
        case .notice: .notice
        case .table: .table
        case .row: .row
        case .end: .end
        }
    }

    /// With its kind and length in front.
    public var encoded: [UInt8] {
        var content = ByteWriter()
        switch self {
        case .begin(let head):
            content.append(Self.version)
            head.append(to: &content)
        case .heading(let level, let text):
            content.append(level)
            content.append(Self.fitting(text))
        case .paragraph(let text): content.append(Self.fitting(text))
        case .picture(let picture): picture.append(to: &content)
        case .notice(let tone, let text):
            content.append(tone.rawValue)
            content.append(Self.fitting(text))
        case .table(let columns):
            content.append(UInt8(columns.count))
            for column in columns { column.append(to: &content) }
        case .row(let tone, let cells):
            content.append(tone.rawValue)
            content.append(UInt8(cells.count))
            for cell in cells { content.append(Self.fitting(cell)) }
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
                self = .begin(try PageHead(&reader))
            case .heading:
                let level: UInt8 = try reader.read()
                guard Self.levels.contains(level) else { throw Self.malformed }
                self = .heading(level: level, try Self.text(&reader))
            case .paragraph: self = .paragraph(try Self.text(&reader))
            case .picture: self = .picture(try PagePicture(&reader))
            case .notice: self = .notice(try PageTone(&reader), try Self.text(&reader))
            case .table:
                let count: UInt8 = try reader.read()
                guard PageColumn.counts.contains(Int(count)) else { throw Self.malformed }
                var columns: [PageColumn] = []
                for _ in 0..<count { columns.append(try PageColumn(&reader)) }
                self = .table(columns)
            case .row:
                let (tone, count) = (try PageTone(&reader), try reader.read(UInt8.self))
                guard PageColumn.counts.contains(Int(count)) else { throw Self.malformed }
                var cells: [String] = []
                for _ in 0..<count { cells.append(try Self.text(&reader)) }
                self = .row(tone, cells)
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
