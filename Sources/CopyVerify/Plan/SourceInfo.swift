import BackupCore
import Formats
import SystemIO

/// What a source has: `source_info.json`.
public struct SourceInfo: Sendable {
    private static let extensionLimit = 1_000
    private static let others = "(others)"

    /// Of the source.
    public let path: String
    /// Files and links.
    public private(set) var fileCount: UInt64 = 0
    /// Of the files.
    public private(set) var totalBytes: UInt64 = 0
    /// How many files have an extension, in lower case; empty for those without one.
    public private(set) var countsByExtension: [String: UInt64] = [:]
    /// The earliest time of a file; `nil` without files.
    public private(set) var oldest: Timestamp?
    /// The latest time of a file; `nil` without files.
    public private(set) var newest: Timestamp?

    init(path: String) { self.path = path }

    mutating func add(_ name: FileName, _ status: FileStatus) {
        fileCount += 1
        guard status.kind == .regular else { return }
        totalBytes = totalBytes.addingSaturating(status.size)
        oldest = min(oldest ?? status.modificationTime, status.modificationTime)
        newest = max(newest ?? status.modificationTime, status.modificationTime)
        let ending = Self.ending(of: name)
        let isKnown = countsByExtension[ending] != nil || countsByExtension.count < Self.extensionLimit
        countsByExtension[isKnown ? ending : Self.others, default: 0] += 1
    }

    /// Without the dot, in lower case.
    private static func ending(of name: FileName) -> String {
        guard let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0, name.bytes.count - dot <= 17 else { return "" }
        return String(decoding: name.bytes[(dot + 1)...], as: UTF8.self).lowercased()
    }

    var json: OrderedJSON {
        [
            "path": path, "fileCount": fileCount, "totalBytes": totalBytes,
            "byExtension": OrderedJSON.object(countsByExtension.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }),
            "oldest": oldest, "newest": newest,
        ]
    }
}
