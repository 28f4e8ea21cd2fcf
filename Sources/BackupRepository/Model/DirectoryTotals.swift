import BackupCore

/// Sums over everything below a folder, at any depth. Paths are relative to that folder. The sums are stored with each folder, so
/// the sizes of whole trees and their listings are known without a walk.
///
/// Sums wrap around instead of trapping: damaged bytes may hold any number.
public struct DirectoryTotals: Hashable, Sendable {
    /// Files in this folder and in all below it.
    public private(set) var fileCount: UInt64 = 0
    /// Folders below this one, excluding itself.
    public private(set) var directoryCount: UInt64 = 0
    /// Symbolic links in this folder and in all below it.
    public private(set) var symbolicLinkCount: UInt64 = 0
    /// Bytes of all files.
    public private(set) var byteCount: UInt64 = 0
    /// Sum of the lengths of the files' paths.
    public private(set) var pathByteCount: UInt64 = 0
    /// The same, with paths escaped as in a checksum listing (`ChecksumListing`), without the leading backslash.
    public private(set) var escapedPathByteCount: UInt64 = 0
    /// Files whose path needs escaping in a listing.
    public private(set) var escapedFileCount: UInt64 = 0

    public init() {}

    /// - Parameter entries: those of one folder.
    public init(of entries: [TreeEntry]) {
        for entry in entries { add(entry) }
    }

    private mutating func add(_ entry: TreeEntry) {
        switch entry.kind {
        case .file:
            fileCount &+= 1
            byteCount &+= entry.size
            pathByteCount &+= UInt64(entry.name.bytes.count)
            let escapedCount = ChecksumListing.escapedByteCount(entry.name.bytes)
            escapedPathByteCount &+= UInt64(escapedCount)
            if escapedCount != entry.name.bytes.count { escapedFileCount &+= 1 }
        case .symbolicLink:
            symbolicLinkCount &+= 1
        case .directory:
            directoryCount &+= 1
            if let below = entry.totals { add(below.prefixed(by: entry.name.bytes + [UInt8(ascii: "/")])) }
        }
    }

    private mutating func add(_ other: DirectoryTotals) {
        fileCount &+= other.fileCount
        directoryCount &+= other.directoryCount
        symbolicLinkCount &+= other.symbolicLinkCount
        byteCount &+= other.byteCount
        pathByteCount &+= other.pathByteCount
        escapedPathByteCount &+= other.escapedPathByteCount
        escapedFileCount &+= other.escapedFileCount
    }

    /// The same sums with `prefix` prepended to every path.
    func prefixed(by prefix: [UInt8]) -> DirectoryTotals {
        var result = self
        let escapedCount = ChecksumListing.escapedByteCount(prefix)
        result.pathByteCount &+= fileCount &* UInt64(prefix.count)
        result.escapedPathByteCount &+= fileCount &* UInt64(escapedCount)
        if escapedCount != prefix.count { result.escapedFileCount = fileCount }
        return result
    }

    /// Size in bytes of the listing that `sha256sum` or a similar program prints for all files below the folder.
    /// - Parameters:
    ///   - digestHexLength: hexadecimal digits of one digest: 64 for SHA-256, 32 for MD5.
    ///   - pathPrefix: the prefix of every path, with its slash.
    public func listingSizeBytes(digestHexLength: Int, pathPrefix: [UInt8] = []) -> UInt64 {
        let totals = prefixed(by: pathPrefix)
        let perLine = UInt64(digestHexLength + ChecksumListing.separator.count + 1)
        return totals.fileCount &* perLine &+ totals.escapedPathByteCount &+ totals.escapedFileCount
    }
}

extension DirectoryTotals {
    func encode(into writer: inout ByteWriter) {
        for value in [
            fileCount, directoryCount, symbolicLinkCount, byteCount, pathByteCount, escapedPathByteCount, escapedFileCount,
        ] { writer.append(value) }
    }

    init(decoding reader: inout ByteReader) throws(BackupError) {
        fileCount = try reader.read()
        directoryCount = try reader.read()
        symbolicLinkCount = try reader.read()
        byteCount = try reader.read()
        pathByteCount = try reader.read()
        escapedPathByteCount = try reader.read()
        escapedFileCount = try reader.read()
        guard escapedFileCount <= fileCount, pathByteCount <= escapedPathByteCount else {
            throw BackupError(.repositoryDamaged, "a folder's totals do not fit together")
        }
    }
}

/// Lines of a checksum listing in the format of GNU `sha256sum` and `md5sum`: digest, two spaces, path, newline. A backslash, a
/// newline or a carriage return in the path is written `\\`, `\n` or `\r`, and the line then starts with a backslash.
public enum ChecksumListing {
    static let separator: [UInt8] = [32, 32]

    /// One line, with its newline.
    /// - Parameter digest: in lower-case hexadecimal digits.
    public static func line(digest: String, path: [UInt8]) -> [UInt8] {
        var line: [UInt8] = []
        let escaped = escape(path)
        line.reserveCapacity(digest.utf8.count + escaped.count + 4)
        if escaped.count != path.count { line.append(UInt8(ascii: "\\")) }
        line.append(contentsOf: digest.utf8)
        line.append(contentsOf: separator)
        line.append(contentsOf: escaped)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    static func escapedByteCount(_ path: [UInt8]) -> Int { path.count + path.count { needsEscape($0) } }

    private static func escape(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(where: needsEscape) else { return path }
        var escaped: [UInt8] = []
        for byte in path {
            switch byte {
            case UInt8(ascii: "\\"): escaped += [UInt8(ascii: "\\"), UInt8(ascii: "\\")]
            case UInt8(ascii: "\n"): escaped += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case UInt8(ascii: "\r"): escaped += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
            default: escaped.append(byte)
            }
        }
        return escaped
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}
