import BackupCore
import Formats
import SystemIO

/// The lines of rows: the same text as their `json` has. Of most rows it is written directly, since there is one for each copy of
/// hundreds of thousands of small files.
struct RowText {
    private static let digits = Array("0123456789abcdef".utf8)

    private(set) var bytes: [UInt8] = []
    private let recordedAt: Timestamp
    private let recordedText: [UInt8]
    /// The last destination, and its text.
    private var destination = ("", [UInt8]())

    /// - Parameter recordedAt: when the rows have become certain.
    init(recordedAt: Timestamp) {
        self.recordedAt = recordedAt
        recordedText = ISO8601.formatToUTF8(recordedAt)
    }

    /// Adds a line.
    mutating func add(_ row: ResultRow) {
        if !addCommon(row) { bytes += row.json(recordedAt: recordedAt).compactText }
        bytes.append(10)
    }

    /// - Returns: false for a row that has more than most have; nothing is added then.
    private mutating func addCommon(_ row: ResultRow) -> Bool {
        let hasOthers = row.isLink || row.target != nil || row.error != nil
        let digests = row.digests
        guard !hasOthers, digests.xxh128 == nil, digests.c4 == nil, digests.xxh64 == nil, digests.xxh3 == nil,
            row.path.allSatisfy(Self.isPlain)
        else { return false }
        if destination.0 != row.destination {
            destination = (row.destination, OrderedJSON.text(row.destination).compactText)
        }
        bytes += "{\"path\":\"".utf8
        bytes += row.path
        bytes += "\",\"destination\":".utf8
        bytes += destination.1
        bytes += ",\"size\":".utf8
        add(row.size)
        add(time: "mtime", ISO8601.formatToUTF8(row.modificationTime))
        bytes += ",\"status\":\"".utf8
        bytes += row.status.rawValue.utf8
        bytes += "\"".utf8
        add(digest: "sha256", digests.sha256)
        add(digest: "md5", digests.md5)
        add(digest: "sha1", digests.sha1)
        bytes += ",\"read_back\":".utf8
        if let method = row.readBack { bytes += "\"\(method.rawValue)\"".utf8 } else { bytes += "null".utf8 }
        add(time: "recorded_at", recordedText)
        if let time = row.hashedAt { add(time: "hashed_at", ISO8601.formatToUTF8(time)) }
        if let inode = row.targetInode {
            bytes += ",\"target_inode\":".utf8
            add(UInt64(Int64(clamping: inode)))
        }
        if let time = row.targetTime { add(time: "target_mtime", ISO8601.formatToUTF8(time)) }
        bytes += "}".utf8
        return true
    }

    /// Whether a byte of a path is ASCII that JSON has as it is.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (32..<127).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private mutating func add(_ number: UInt64) { bytes += String(Int64(clamping: number)).utf8 }

    private mutating func add(time name: StaticString, _ text: [UInt8]) {
        addName(name)
        bytes.append(UInt8(ascii: "\""))
        bytes += text
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func add(digest name: StaticString, _ digest: (some ByteDigest)?) {
        addName(name)
        guard let digest else {
            bytes += "null".utf8
            return
        }
        bytes.append(UInt8(ascii: "\""))
        digest.withUnsafeBytes { buffer in
            for byte in buffer {
                bytes.append(Self.digits[Int(byte >> 4)])
                bytes.append(Self.digits[Int(byte & 15)])
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func addName(_ name: StaticString) {
        bytes += ",\"".utf8
        name.withUTF8Buffer { bytes += $0 }
        bytes += "\":".utf8
    }
}
