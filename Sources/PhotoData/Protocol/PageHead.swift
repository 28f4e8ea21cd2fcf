import BackupCore

/// The beginning of a document.
public struct PageHead: Sendable, Equatable {
    /// At the top of the first page, and what viewers call the document.
    public let title: String
    /// When the document was made.
    public let createdAt: Timestamp
    /// Whether its headings stand out by a colour.
    public let hasAccents: Bool
    /// Shown with the number of each page; 0 when it is not known.
    public let pageCount: UInt32
    /// Beside the title; its lines are not shown. `nil` for none.
    public let logo: PagePicture?

    public init(
        title: String, createdAt: Timestamp, hasAccents: Bool = false, pageCount: UInt32 = 0, logo: PagePicture? = nil
    ) {
        self.title = title
        self.createdAt = createdAt
        self.hasAccents = hasAccents
        self.pageCount = pageCount
        self.logo = logo
    }

    func append(to writer: inout ByteWriter) {
        writer.append(createdAt)
        writer.append(PageElement.fitting(title))
        writer.append(UInt8(hasAccents ? 1 : 0))
        writer.append(pageCount)
        writer.append(UInt8(logo == nil ? 0 : 1))
        logo?.append(to: &writer)
    }

    init(_ reader: inout ByteReader) throws(BackupError) {
        let (seconds, nanoseconds) = (try reader.read(Int64.self), try reader.read(UInt32.self))
        guard nanoseconds < 1_000_000_000, Timestamp(seconds: seconds).isWithinCalendar else { throw PageElement.malformed }
        createdAt = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
        title = try PageElement.text(&reader)
        hasAccents = try Self.flag(&reader)
        pageCount = try reader.read()
        guard pageCount <= UInt32(Int32.max) else { throw PageElement.malformed }
        logo = try Self.flag(&reader) ? try PagePicture(&reader) : nil
    }

    fileprivate static func flag(_ reader: inout ByteReader) throws(BackupError) -> Bool {
        let byte: UInt8 = try reader.read()
        guard byte <= 1 else { throw PageElement.malformed }
        return byte == 1
    }
}

/// The look of a text.
public enum PageTone: UInt8, Sendable, CaseIterable {
    case plain = 0
    case good, bad, quiet
    /// A row whose first cell is the name of what is in the second.
    case fact

    init(_ reader: inout ByteReader) throws(BackupError) {
        guard let tone = PageTone(rawValue: try reader.read()) else { throw PageElement.malformed }
        self = tone
    }
}

/// A column of a table.
public struct PageColumn: Sendable, Equatable {
    /// How many a table can have.
    public static let counts = 1...8

    /// If all are empty, the table has no head.
    public let heading: String
    /// Its part of the width.
    public let weight: UInt8
    /// Whether its texts end at the right.
    public let isNumber: Bool

    public init(_ heading: String, weight: UInt8 = 1, isNumber: Bool = false) {
        self.heading = heading
        self.weight = weight
        self.isNumber = isNumber
    }

    func append(to writer: inout ByteWriter) {
        writer.append(PageElement.fitting(heading))
        writer.append(weight)
        writer.append(UInt8(isNumber ? 1 : 0))
    }

    init(_ reader: inout ByteReader) throws(BackupError) {
        heading = try PageElement.text(&reader)
        weight = try reader.read()
        isNumber = try PageHead.flag(&reader)
    }
}
