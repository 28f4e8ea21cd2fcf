import BackupCore

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

    func append(to writer: inout ByteWriter) {
        writer.append(PageElement.fitting(placeholder))
        writer.append(UInt8(lines.count))
        for line in lines { writer.append(PageElement.fitting(line)) }
        writer.append(lengthPrefixed: header == nil ? [] : jpeg)
    }

    init(_ reader: inout ByteReader) throws(BackupError) {
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
