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
    /// The files of an extension, in lower case; empty for those without one. At most 1,000, and all others together.
    public private(set) var totalsByExtension: [String: ExtensionTotal] = [:]
    /// The earliest time of a file; `nil` without files.
    public private(set) var oldest: Timestamp?
    /// The latest time of a file; `nil` without files.
    public private(set) var newest: Timestamp?
    /// What recorded it.
    public internal(set) var camera = CameraCard()

    /// Files of one extension.
    public struct ExtensionTotal: Sendable, Equatable {
        /// Of the files.
        public fileprivate(set) var count: UInt64 = 0
        /// Of all of them.
        public fileprivate(set) var bytes: UInt64 = 0
    }

    init(path: String) { self.path = path }

    mutating func add(_ name: FileName, _ status: FileStatus) {
        fileCount += 1
        guard status.kind == .regular else { return }
        totalBytes = totalBytes.addingSaturating(status.size)
        oldest = min(oldest ?? status.modificationTime, status.modificationTime)
        newest = max(newest ?? status.modificationTime, status.modificationTime)
        let ending = Self.ending(of: name)
        let isKnown = totalsByExtension[ending] != nil || totalsByExtension.count < Self.extensionLimit
        var total = totalsByExtension[isKnown ? ending : Self.others] ?? ExtensionTotal()
        total.count += 1
        total.bytes = total.bytes.addingSaturating(status.size)
        totalsByExtension[isKnown ? ending : Self.others] = total
    }

    /// Without the dot, in lower case.
    static func ending(of name: FileName) -> String {
        guard let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0, name.bytes.count - dot <= 17 else { return "" }
        return String(decoding: name.bytes[(dot + 1)...], as: UTF8.self).lowercased()
    }

    var json: OrderedJSON {
        [
            "path": path, "fileCount": fileCount, "totalBytes": totalBytes,
            "byExtension": OrderedJSON.object(
                totalsByExtension.sorted { $0.key < $1.key }.map { ending, total in
                    .init(ending, ["count": total.count, "bytes": total.bytes] as OrderedJSON)
                }),
            "oldest": oldest, "newest": newest, "clipCount": camera.clipCount, "photoCount": camera.photoCount,
            "camera": camera.summary,
        ]
    }
}
