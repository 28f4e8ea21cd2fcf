import BackupCore
import ObjectStorage
import PhotoData
import SystemIO

/// Where a photo lies in the bucket: `photos/2024/06/<md5>.jpg`, and what belongs to it beside it.
public struct PhotoKey: Sendable, Hashable {
    static let originalFolder = "photos"

    /// `2024/06`.
    public let month: String
    /// Of the content, in small hexadecimal digits.
    public let md5: String
    /// In small letters, without a point.
    public let fileExtension: String

    /// The key of a new photo.
    /// - Parameters:
    ///   - dateTaken: the clock on the wall where it was taken, which is never converted; `nil` for the present month in UTC.
    ///   - filename: has the extension.
    ///   - isLive: whether it is the still of a Live Photo, which is a HEIC if its name does not say.
    public init?(md5: String, dateTaken: PhotoDate?, filename: String, isLive: Bool, now: Timestamp) {
        let local = dateTaken?.local ?? LocalDateTime(utc: now)
        let month = "\(LocalDateTime.padded(local.year, 4))/\(LocalDateTime.padded(local.month))"
        self.init(month: month, md5: md5, fileExtension: Self.fileExtension(of: filename) ?? (isLive ? "heic" : "jpg"))
    }

    /// - Parameter text: the name of an object.
    /// - Returns: `nil` for an object that is no photo.
    public init?(parsing text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, parts[0] == Self.originalFolder else { return nil }
        let file = parts[3].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard file.count == 2 else { return nil }
        self.init(month: "\(parts[1])/\(parts[2])", md5: file[0], fileExtension: file[1])
    }

    init?(month: String, md5: String, fileExtension: String) {
        guard Self.isMonth(month), Self.isMD5(md5), Self.isExtension(fileExtension) else { return nil }
        self.month = month
        self.md5 = md5
        self.fileExtension = fileExtension
    }

    /// The name of the original's object.
    public var text: String { "\(Self.originalFolder)/\(month)/\(md5).\(fileExtension)" }
    /// Never that of an original, whatever the extension of the original is.
    public var thumbnailText: String { "thumbnails/\(month)/\(md5).jpg" }
    /// All tags of the photo.
    public var sidecarText: String { "metadata/\(month)/\(md5).json" }

    /// The same content in another month or under another extension is no second object.
    func inMonth(of other: PhotoKey) -> PhotoKey {
        PhotoKey(month: other.month, md5: md5, fileExtension: fileExtension) ?? self
    }

    /// - Returns: `nil` for a name without one, and for one that is not 1 to 16 letters and digits.
    static func fileExtension(of filename: String) -> String? {
        guard let point = filename.lastIndex(of: "."), point != filename.startIndex else { return nil }
        let text = filename[filename.index(after: point)...].lowercased()
        return isExtension(text) ? text : nil
    }

    /// Whether a text has the form `2024/06`.
    public static func isMonth(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 7, bytes[4] == UInt8(ascii: "/"), let month = UInt(text.suffix(2)), (1...12).contains(month) else {
            return false
        }
        return (bytes[..<4] + bytes[5...]).allSatisfy { (48...57).contains($0) }
    }

    /// Whether a text is 32 small hexadecimal digits.
    public static func isMD5(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    private static func isExtension(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count) && text.utf8.allSatisfy { (48...57).contains($0) || (97...122).contains($0) }
    }
}

extension ObjectName {
    /// - Throws: `invalidArgument`, for a text that no storage takes.
    static func checked(_ text: String) throws(BackupError) -> ObjectName {
        guard let name = ObjectName(text) else {
            throw BackupError(.invalidArgument, "this is no name of an object", path: text)
        }
        return name
    }
}
