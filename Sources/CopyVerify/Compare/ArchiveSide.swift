import BackupCore
import Formats
import SystemIO

/// A ZIP archive. Its directory is in memory; its entries are unpacked when their bytes are needed, and never written.
public struct ArchiveSide: ComparedSide {
    public let title: String
    public var knowsSizes: Bool { true }
    /// Many programs store no folders, not even empty ones.
    public let knowsFolders: Bool
    public var onlyAlgorithms: [HashAlgorithm]? { nil }

    private let paths: ListedPaths
    private let entries: Entries

    /// Whether a file that begins with these bytes is a ZIP archive, perhaps an empty one.
    public static func isArchive(_ start: [UInt8]) -> Bool {
        start.starts(with: [0x50, 0x4B, 3, 4]) || start.starts(with: [0x50, 0x4B, 5, 6])
    }

    /// - Throws: `invalidContent`, `damagedContent` for an archive that not every program would read in the same way.
    public init(path: String, title: String) throws(BackupError) {
        self.title = title
        let file = try SharedFile(path: path)
        // Nothing is written, so a bomb can take time only.
        var limits = ArchiveLimits.ownArchive
        limits.namesTotalSizeBytes = 1 << 30
        limits.acceptsUnixBackslashes = true
        limits.acceptsSymbolicLinks = true
        let reader: ArchiveReader
        do throws(BackupError) {
            reader = try ArchiveReader(zip: file, size: file.size, limits: limits)
        } catch {
            throw error.with(
                error.code, "the ZIP archive cannot be compared", path: path, remedy: "Check it with: unzip -t")
        }
        let list = reader.entries()
        var builder = ListedPaths.Builder()
        var hasFolders = false
        for entry in list {
            try builder.append(entry.path)
            if entry.isDirectory { hasFolders = true }
        }
        knowsFolders = hasFolders
        // The reader has refused an archive with two entries of one name.
        paths = try ListedPaths(builder) { _, _ in }
        entries = Entries(reader: reader, list: list, file: file, path: path, status: try file.status())
    }

    public func root() -> any ComparedFolder {
        ListedFolder(paths: paths, entries: entries, range: paths.all, skipped: 0)
    }

    private struct Entries: ListedEntries {
        private static let linkLimitBytes = 4_096

        let reader: ArchiveReader
        let list: ArchiveEntryList
        let file: SharedFile
        let path: String
        let status: FileStatus

        func item(_ number: Int) -> ComparedItem {
            let entry = list[number]
            if entry.isDirectory { return ComparedItem(.folder) }
            if entry.isSymbolicLink { return ComparedItem(.link) }
            return ComparedItem(
                .file, sizeBytes: entry.size, modificationTime: entry.modificationTime, crc32: entry.crc32)
        }

        func linkTarget(_ number: Int) throws(BackupError) -> [UInt8] {
            try reader.content(of: list[number], limitBytes: Self.linkLimitBytes)
        }

        func checksum(
            _ number: Int, _ item: ComparedItem, _ algorithm: HashAlgorithm
        ) throws(BackupError) -> [UInt8] {
            var hasher = ChecksumHasher(algorithm)
            var content = content(number, item)
            while let part = try content.next() { hasher.update(part) }
            return hasher.finish()
        }

        func content(_ number: Int, _ item: ComparedItem) -> any ComparedContent {
            EntryContent(reader: reader.reader(of: list[number]), file: file, path: path, status: status)
        }
    }

    private struct EntryContent: ComparedContent {
        let reader: ArchiveEntryReader
        let file: SharedFile
        let path: String
        let status: FileStatus

        mutating func next() throws(BackupError) -> UnsafeRawBufferPointer? {
            do throws(BackupError) {
                if let part = try reader.next() { return part }
            } catch {
                guard error.code == .damagedContent else { throw error }
                throw error.with(.damagedContent, "the entry of the archive is damaged", path: path)
            }
            guard try file.status() == status else { throw FileChecksums.changed(path) }
            return nil
        }
    }
}
