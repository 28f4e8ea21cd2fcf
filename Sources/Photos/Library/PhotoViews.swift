import BackupCore
import Synchronization
import SystemIO

/// The photos of a list as folders of links: `by-date/2024/06/30`, `by-camera/CAMERA/2024/06`, `duplicates/MD5` and `starred`.
///
/// A folder costs the lines of its own photos. Two photos of one name get numbers, in the order of the list.
public final class PhotoViews: Sendable {
    /// What a folder holds.
    public enum Entry: Sendable, Equatable {
        case folder(FileName)
        /// - Parameter path: of the photo, below the media folder.
        case link(FileName, path: [UInt8], modificationTime: Timestamp)

        public var name: FileName {
            switch self {
            case .folder(let name): name
            case .link(let name, _, _): name
            }
        }
    }

    /// The folders at the top.
    public static let folderNames: [FileName] = ["by-camera", "by-date", "duplicates", starredFolderName]
    /// The folder with the photos that had a star.
    public static let starredFolderName: FileName = "starred"
    /// How many folders with links are held.
    private static let heldFolderCount = 8

    private let index: PhotoIndex
    private let byDate: [Int32]
    private let byCamera: [FileName: [Int32]]
    private let duplicates = Mutex<[FileName: [Int32]]?>(nil)
    private let held = Mutex<[(path: [FileName], entries: [Entry])]>([])

    public init(_ index: PhotoIndex) {
        self.index = index
        let items = index.items
        byDate = items.indices.map { Int32($0) }.sorted { left, right in
            let (one, other) = (items[Int(left)].day, items[Int(right)].day)
            return one == other ? left < right : one < other
        }
        byCamera = Dictionary(grouping: byDate) { index.cameras[Int(items[Int($0)].camera)] }
    }

    /// The content of a folder, sorted by name; `nil` when there is no such folder.
    public func children(of path: [FileName]) throws(BackupError) -> [Entry]? {
        guard let view = path.first else { return Self.folderNames.map { .folder($0) } }
        let rest = Array(path.dropFirst())
        switch view {
        case "by-date": return try days(rest, byDate, depth: 3, path)
        case "by-camera":
            guard let camera = rest.first else { return byCamera.keys.sorted().map { .folder($0) } }
            return try byCamera[camera].flatMap { (photos) throws(BackupError) in
                try days(Array(rest.dropFirst()), photos, depth: 2, path)
            }
        case "duplicates":
            let groups = try groups()
            guard let name = rest.first else { return groups.keys.sorted().map { .folder($0) } }
            guard rest.count == 1, let photos = groups[name] else { return nil }
            return try links(photos, path)
        case Self.starredFolderName: return rest.isEmpty ? try links(index.starred, path) : nil
        default: return nil
        }
    }

    /// One entry of a folder.
    public func entry(at path: [FileName]) throws(BackupError) -> Entry? {
        guard let name = path.last, let siblings = try children(of: path.dropLast()) else { return nil }
        let place = siblings.partitioningIndex { $0.name >= name }
        return place < siblings.count && siblings[place].name == name ? siblings[place] : nil
    }

    /// The folders of years, months and days.
    /// - Parameters:
    ///   - photos: sorted by their days.
    ///   - depth: 3 for days, 2 for months.
    private func days(
        _ numbers: [FileName], _ photos: [Int32], depth: Int, _ path: [FileName]
    ) throws(BackupError) -> [Entry]? {
        guard numbers.count <= depth else { return nil }
        var range = photos[...]
        for (level, name) in numbers.enumerated() {
            guard let number = Self.number(name, digits: level == 0 ? 4 : 2) else { return nil }
            let start = range.partitioningIndex { part($0, level) >= number }
            let end = range.partitioningIndex { part($0, level) > number }
            range = range[start..<end]
            guard !range.isEmpty else { return nil }
        }
        if numbers.count == depth { return try links(Array(range), path) }
        // Each link is looked up through the folders above it: they must not cost a step for each photo.
        let level = numbers.count
        var entries: [Entry] = []
        while let photo = range.first {
            let number = part(photo, level)
            entries.append(.folder(FileName(LocalDateTime.padded(Int(number), level == 0 ? 4 : 2))))
            range = range[range.partitioningIndex { part($0, level) > number }...]
        }
        return entries
    }

    /// The year, month or day of a photo, for the levels 0, 1 and 2.
    private func part(_ photo: Int32, _ level: Int) -> UInt32 {
        let day = index.items[Int(photo)].day
        switch level {
        case 0: return day / 10_000 % 10_000
        case 1: return day / 100 % 100
        default: return day % 100
        }
    }

    private static func number(_ name: FileName, digits: Int) -> UInt32? {
        guard name.bytes.count == digits, name.bytes.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return UInt32(String(decoding: name.bytes, as: UTF8.self))
    }

    private func links(_ photos: [Int32], _ path: [FileName]) throws(BackupError) -> [Entry] {
        if let known = held.withLock({ $0.first { $0.path == path }?.entries }) { return known }
        var names = PhotoLinkNames()
        var entries: [Entry] = []
        for photo in photos.sorted() {
            let record = try index.record(at: Int(photo))
            entries.append(
                .link(
                    names.name(for: BytePath.lastComponent(of: record.path)), path: record.path,
                    modificationTime: record.modificationTime))
        }
        entries.sort { $0.name < $1.name }
        held.withLock { held in
            if held.count >= Self.heldFolderCount { held.removeFirst() }
            held.append((path, entries))
        }
        return entries
    }

    /// The duplicates by the MD5 of their bytes.
    private func groups() throws(BackupError) -> [FileName: [Int32]] {
        if let known = duplicates.withLock({ $0 }) { return known }
        var groups: [FileName: [Int32]] = [:]
        for photos in index.duplicates() {
            guard let md5 = try index.record(at: Int(photos[0])).md5 else { continue }
            groups[FileName(md5.hexadecimal)] = photos
        }
        duplicates.withLock { $0 = groups }
        return groups
    }
}

/// The names of links in one folder. Photos of one name get numbers: `IMG_1 (2).jpg`.
public struct PhotoLinkNames {
    private var taken: Set<FileName> = []
    /// The number for the next photo of a name: apps may call all of theirs `original.jpg`.
    private var next: [FileName: Int] = [:]

    public init() {}

    /// To be called once for each photo, in the order of their paths.
    public mutating func name(for bytes: [UInt8]) -> FileName {
        let own = FileName(bytes: bytes)
        var name = own
        var number = next[own] ?? 2
        while !taken.insert(name).inserted {
            name = FileName(bytes: FileName.fitting(bytes, " (\(number))"))
            number += 1
        }
        next[own] = number
        return name
    }
}
