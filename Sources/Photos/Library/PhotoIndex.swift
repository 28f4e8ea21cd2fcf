import BackupCore
import SystemIO

/// A list of photos, opened: which photo is where, by path, content, day and camera. It holds about 60 bytes for each photo, and
/// reads a photo's line from the list when it is asked for.
public final class PhotoIndex: Sendable {
    /// What is held of a photo.
    struct Item {
        /// Where its line begins, in bytes.
        let offset: UInt64
        let lineBytes: UInt32
        /// 20240630.
        let day: UInt32
        /// Of that day, when it was taken by the clock there; negative for a photo without a date.
        let second: Int32
        /// Its place in `cameras`.
        let camera: Int32
        let isStarred: Bool
        /// Of its path.
        let hash: UInt64
        /// The first eight bytes of its SHA-256; 0 when that is unknown.
        let content: UInt64
    }

    /// Further photos are left out: the list of a repository from elsewhere may be made to take all memory.
    private static let countLimit = 4_000_000

    private let source: any ByteSource
    /// In the order of the list.
    let items: [Item]
    /// The names of the folders of cameras.
    let cameras: [FileName]
    private let byHash: [Int32]
    private let byContent: [Int32]

    /// Reads a list. Lines that are not of this version, or damaged, are left out.
    /// - Throws: the errors of the source.
    public init(reading source: any ByteSource) throws(BackupError) {
        self.source = source
        var items: [Item] = []
        var cameras: [FileName] = []
        var known: [FileName: Int32] = [:]
        try Self.forEachLine(of: source) { offset, line in
            guard items.count < Self.countLimit, let record = PhotoRecord(line: line) else { return }
            let folder = record.camera.map(PhotoPlaces.folderName) ?? PhotoPlaces.unknownCamera
            if known[folder] == nil {
                known[folder] = Int32(cameras.count)
                cameras.append(folder)
            }
            items.append(
                Item(
                    offset: offset, lineBytes: UInt32(line.count), day: Self.number(ofDay: record.day),
                    second: record.taken.map { Int32($0.local.hour * 3_600 + $0.local.minute * 60 + $0.local.second) } ?? -1,
                    camera: known[folder] ?? 0, isStarred: record.isStarred, hash: Self.hash(record.path),
                    content: Self.prefix(record.sha256)))
        }
        self.items = items
        self.cameras = cameras
        byHash = Self.sorted(items) { $0.hash }
        byContent = Self.sorted(items) { $0.content }
    }

    /// The number of photos.
    public var count: Int { items.count }

    /// The photo at a place of the list.
    /// - Throws: `damagedContent` if the list has changed.
    public func record(at index: Int) throws(BackupError) -> PhotoRecord {
        let item = items[index]
        let line = try source.bytes(at: item.offset, upTo: Int(item.lineBytes))
        guard let record = PhotoRecord(line: line) else {
            throw BackupError(.damagedContent, "the list of photos cannot be read", path: PhotoPlaces.listName.description)
        }
        return record
    }

    /// The photos that had a star when the list was made: their places in the list.
    var starred: [Int32] { items.indices.filter { items[$0].isStarred }.map { Int32($0) } }

    /// The paths of the photos that had a star when the list was made, below the media folder.
    /// - Throws: `damagedContent` if the list has changed.
    public func starredPaths() throws(BackupError) -> [[UInt8]] {
        var paths: [[UInt8]] = []
        for index in starred { paths.append(try record(at: Int(index)).path) }
        return paths
    }

    /// The photo at a path below the media folder.
    public func record(path: [UInt8]) throws(BackupError) -> PhotoRecord? {
        try first(byHash, Self.hash(path), { $0.hash }) { $0.path == path }
    }

    /// A photo with these bytes.
    public func record(sha256: SHA256Digest) throws(BackupError) -> PhotoRecord? {
        try first(byContent, Self.prefix(sha256), { $0.content }) { $0.sha256 == sha256 }
    }

    /// All photos with these bytes, in the order of the list.
    public func records(sha256: SHA256Digest) throws(BackupError) -> [PhotoRecord] {
        let key = Self.prefix(sha256)
        var place = byContent.partitioningIndex { items[Int($0)].content >= key }
        var found: [PhotoRecord] = []
        while place < byContent.count, items[Int(byContent[place])].content == key {
            let record = try record(at: Int(byContent[place]))
            if record.sha256 == sha256 { found.append(record) }
            place += 1
        }
        return found
    }

    /// The photos of this size whose bytes nothing is known of: they are not in a backup yet.
    public func recordsWithoutChecksums(sizeBytes: UInt64) throws(BackupError) -> [PhotoRecord] {
        var found: [PhotoRecord] = []
        for index in items.indices where items[index].content == 0 {
            let record = try record(at: index)
            if record.sha256 == nil, record.sizeBytes == sizeBytes { found.append(record) }
        }
        return found
    }

    private func first(
        _ order: [Int32], _ key: UInt64, _ keyOf: (Item) -> UInt64, _ isWanted: (PhotoRecord) -> Bool
    ) throws(BackupError) -> PhotoRecord? {
        var place = order.partitioningIndex { keyOf(items[Int($0)]) >= key }
        while place < order.count, keyOf(items[Int(order[place])]) == key {
            let record = try record(at: Int(order[place]))
            if isWanted(record) { return record }
            place += 1
        }
        return nil
    }

    /// Photos with the same bytes, each at least twice: their places in the list, in its order.
    func duplicates() -> [[Int32]] {
        var groups: [[Int32]] = []
        var start = 0
        for end in 1...max(1, byContent.count) {
            let isSame =
                end < byContent.count && items[Int(byContent[end])].content == items[Int(byContent[start])].content
            if isSame { continue }
            if end - start > 1, items[Int(byContent[start])].content != 0 { groups.append(Array(byContent[start..<end])) }
            start = end
        }
        return groups
    }

    // MARK: Reading the list

    private static let blockSizeBytes = 1 << 20

    private static func forEachLine(
        of source: any ByteSource, _ body: (_ offset: UInt64, _ line: [UInt8]) -> Void
    ) throws(BackupError) {
        var rest: [UInt8] = []
        var restOffset: UInt64 = 0
        var isTooLong = false
        while true {
            let block = try source.bytes(at: restOffset + UInt64(rest.count), upTo: blockSizeBytes)
            guard !block.isEmpty else { break }
            rest += block
            var start = 0
            while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
                if end - start <= PhotoRecord.lineLimitBytes, !isTooLong {
                    body(restOffset + UInt64(start), Array(rest[start..<end]))
                }
                isTooLong = false
                start = end + 1
            }
            if rest.count - start > PhotoRecord.lineLimitBytes {
                // The rest of a line that is not read.
                isTooLong = true
                start = rest.count
            }
            rest.removeFirst(start)
            restOffset += UInt64(start)
        }
    }

    private static func hash(_ path: [UInt8]) -> UInt64 {
        var hasher = Hasher()
        path.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private static func prefix(_ digest: SHA256Digest?) -> UInt64 {
        digest.map { $0.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) } } ?? 0
    }

    /// By the key, and by their place where it is the same.
    private static func sorted(_ items: [Item], by key: (Item) -> UInt64) -> [Int32] {
        let keys = items.map(key)
        return items.indices.map { Int32($0) }.sorted { left, right in
            let (one, other) = (keys[Int(left)], keys[Int(right)])
            return one == other ? left < right : one < other
        }
    }

    /// - Returns: 0 for a year that has not four digits.
    private static func number(ofDay day: String) -> UInt32 {
        guard day.utf8.count == 10, !day.hasPrefix("-") else { return 0 }
        return day.utf8.reduce(0) { number, byte in (48...57).contains(byte) ? number &* 10 &+ UInt32(byte - 48) : number }
    }
}
