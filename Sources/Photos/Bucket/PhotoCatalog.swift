import BackupCore
import Formats
import ObjectStorage
import SystemIO

/// The catalog of a bucket: one line of JSON for each content.
public struct PhotoCatalog: Sendable, Equatable {
    /// A catalog of a million photos.
    static let limitBytes = 1 << 30

    /// What was read.
    private var text = CatalogText()
    /// What was learnt since.
    private var changes: [String: CatalogEntry] = [:]
    /// The version of the object in the bucket with what was known when there were `publishedCount` changes; `nil` if there is
    /// none.
    private(set) var version: ObjectVersion?
    private var changeCount = 0
    private var publishedCount = 0

    public init() {}

    /// - Throws: `damagedContent` when a line is none: what it said must not be lost by writing the catalog again.
    public init(parsing bytes: [UInt8], path: String) throws(BackupError) {
        var repeated: [CatalogEntry] = []
        text = try CatalogText(bytes, path: path) { repeated.append($0) }
        for entry in repeated { note(entry) }
    }

    /// What can still be read of a damaged catalog.
    init(readableLinesOf bytes: [UInt8]) {
        for line in bytes.split(separator: 10) { if let entry = CatalogText.entry(line) { note(entry) } }
    }

    /// Whether both say the same; whether that is in a bucket does not matter.
    public static func == (one: PhotoCatalog, other: PhotoCatalog) -> Bool {
        one.text == other.text ? one.changes == other.changes || one.encoded == other.encoded : one.encoded == other.encoded
    }

    /// What is known of a content; `nil` if nothing is.
    public subscript(_ md5: String) -> CatalogEntry? { changes[md5] ?? text.entry(md5) }

    /// Whether anything is known of a content.
    public func has(_ md5: String) -> Bool { changes[md5] != nil || text.has(md5) }

    /// The number of contents.
    public var count: Int { text.count + changes.keys.count { !text.has($0) } }

    /// In the order of their keys.
    public var entries: [CatalogEntry] {
        var all = changes.values.map { (key: $0.key.text, entry: $0) }
        text.forEach { entry in
            if changes[entry.md5] == nil { all.append((entry.key.text, entry)) }
        }
        return all.sorted { $0.key < $1.key }.map(\.entry)
    }

    /// Whether it has all contents of another one.
    func hasAll(of other: PhotoCatalog) -> Bool {
        // Those that both have read need no look at each.
        if changes.isEmpty || text == other.text { return text.hasAll(of: other.text) && other.changes.keys.allSatisfy(has) }
        return other.entries.allSatisfy { has($0.md5) }
    }

    /// Adds what is known of a photo to what was known.
    public mutating func note(_ entry: CatalogEntry) {
        guard var merged = self[entry.md5] else {
            return change(entry)
        }
        let known = merged
        merged.merge(entry)
        if merged != known { change(merged) }
    }

    private mutating func change(_ entry: CatalogEntry) {
        changes[entry.md5] = entry
        changeCount += 1
    }

    /// Notes the other part of a Live Photo, where none is known.
    mutating func link(_ md5: String, to pair: String) {
        guard var entry = self[md5], entry.livePhotoPair == nil else { return }
        entry.livePhotoPair = pair
        change(entry)
    }

    /// This catalog with all that another one knows.
    func merging(_ other: PhotoCatalog) -> PhotoCatalog {
        var merged = self
        merged.merge(other)
        return merged
    }

    /// Adds all that another catalog knows.
    public mutating func merge(_ other: PhotoCatalog) {
        if text != other.text { text.forEachOther(of: other.text) { note($0) } }
        for entry in other.changes.values { note(entry) }
    }

    /// Adds what an older catalog knows of the same objects. Only a listing says whether a thumbnail is there.
    mutating func supplement(from older: PhotoCatalog) {
        for var entry in older.entries where self[entry.md5]?.key == entry.key {
            entry.thumbnailKey = nil
            note(entry)
        }
    }

    /// One line for each photo. What was read stays as it was.
    public var encoded: [UInt8] { changes.isEmpty ? text.bytes : text.encoded(with: changes.values) }

    // MARK: The object in the bucket

    /// Whether anything was learnt since it was read or written.
    var hasNews: Bool { changeCount > publishedCount }

    /// For a catalog that was read from an object, or written into it.
    mutating func setPublished(_ version: ObjectVersion) {
        self.version = version
        publishedCount = changeCount
    }

    /// For a catalog whose earlier state was published. What was learnt since is news.
    /// - Parameters:
    ///   - published: what the bucket has now, with its version. It may have been merged, with changes of its own number.
    ///   - earlier: the state of this catalog that was given for it.
    mutating func setPublished(as published: PhotoCatalog, of earlier: PhotoCatalog) {
        version = published.version
        publishedCount = earlier.changeCount
    }

    /// Whether a text is the one that was read.
    func wasRead(from bytes: [UInt8]) -> Bool { text.bytes == bytes }
}
