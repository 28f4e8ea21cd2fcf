import BackupCore
import SystemIO

/// Reads untrusted archives. It accepts only archives that every program reads in the same way, and refuses those in which two
/// readers could find different files.
///
/// Opening reads all headers and no content; memory grows only with the number of entries.
public struct ArchiveReader: Sendable {
    private static let bufferSizeBytes = 256 << 10
    private static let warningCountLimit = 20

    private let source: any ByteSource
    private let directory: ArchiveDirectory
    /// Accepted, but worth a warning: names that differ only in case or in how accents are encoded.
    public let warnings: [Message]

    /// Opens a ZIP archive.
    ///
    /// Driven by the central directory, so it also reads streamed entries (java.util.zip). Reads ZIP64, and the methods "stored"
    /// and "deflated". Refuses encryption, split archives, anything before the first entry, between entries or after the end,
    /// overlapping entries, contradictory headers, two entries of one name, and entries below a file. Refuses devices, and
    /// refuses links and names with a backslash unless `ArchiveLimits` accepts them. Refuses names that are absolute or contain
    /// `..`, `.`, an empty component or a NUL byte.
    /// - Parameters:
    ///   - size: length of the archive in bytes.
    ///   - readsAhead: whether to read more than the headers. Not where content is more expensive to read than headers, and may
    ///     be damaged.
    /// - Throws: `invalidContent` for a file that is not a ZIP archive, and for an archive with content that is never accepted;
    ///   `damagedContent` for a truncated or contradictory one; `tooLarge` over a limit. The first finding says exactly what is
    ///   wrong.
    public init(
        zip source: any ByteSource, size: UInt64, limits: ArchiveLimits, readsAhead: Bool = true
    ) throws(BackupError) {
        var window = ArchiveWindow(source, size: size, lengthBytes: readsAhead ? Self.bufferSizeBytes : 0)
        let end = try ZIPEndRecord(&window)
        var directory = try ZIPDirectory(&window, end, limits: limits)
        // If the files are large, local headers are far apart.
        let isDense = size / UInt64(max(1, directory.headers.count)) < 4_096
        var headers = ZIPLocalHeaders(
            ArchiveWindow(source, size: size, lengthBytes: !readsAhead ? 0 : isDense ? Self.bufferSizeBytes : 512), end)
        try headers.check(&directory)
        self.init(source, directory.entries)
    }

    /// Opens a tar archive: POSIX.1-1988 (ustar) and POSIX.1-2001 (pax), and GNU's long names.
    ///
    /// Refuses compressed archives, hard links, devices, sparse files, archives without an end, bytes after the end, and every
    /// name that is refused in a ZIP archive.
    /// - Parameters:
    ///   - size: length of the archive in bytes.
    ///   - readsAhead: whether to read more than the headers. Not where content is more expensive to read than headers, and may
    ///     be damaged.
    /// - Throws: like the initializer for ZIP archives.
    public init(
        tar source: any ByteSource, size: UInt64, limits: ArchiveLimits, readsAhead: Bool = true
    ) throws(BackupError) {
        self.init(source, try TARDirectory(source, size: size, limits: limits, readsAhead: readsAhead).entries)
    }

    /// Whether a file that begins with these 512 bytes is a tar archive.
    public static func isTAR(_ start: ArraySlice<UInt8>) -> Bool { TARHeaderFields.isHeader(start) }

    private init(_ source: any ByteSource, _ directory: ArchiveDirectory) {
        self.source = source
        self.directory = directory
        warnings = Self.collisions(in: directory)
    }

    /// The unpacked size of all entries.
    public var unpackedSizeBytes: UInt64 { directory.totalSizeBytes }

    /// All entries, in the archive's order.
    /// - Parameter strippingCommonFolder: strips the one folder that contains everything, if there is one: some programs pack a
    ///   folder, and others its content.
    public func entries(strippingCommonFolder: Bool = false) -> ArchiveEntryList {
        guard strippingCommonFolder, let folder = commonLeadingFolder else {
            return ArchiveEntryList(directory: directory, prefixCount: 0, omittedIndex: nil)
        }
        return ArchiveEntryList(directory: directory, prefixCount: folder.count, omittedIndex: directory.index(of: folder))
    }

    /// The folder that contains every entry, with its slash; `nil` when there is none or it is empty.
    public var commonLeadingFolder: [UInt8]? {
        guard let first = directory.records.first else { return nil }
        let name = directory.name(of: first)
        guard let slash = name.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let folder = name[...slash]
        guard directory.records.allSatisfy({ directory.name(of: $0).starts(with: folder) }),
            directory.records.contains(where: { Int($0.nameLength) > folder.count })
        else { return nil }
        return Array(folder)
    }

    /// The entry of exactly this path.
    public func entry(_ path: String) -> ArchiveEntry? {
        directory.index(of: Array(path.utf8)).map { entries()[$0] }
    }

    /// Unpacks one entry in bounded memory. The bytes are verified only when this returns: the caller must be able to discard
    /// them.
    /// - Parameter sink: receives the content in order, never more than the entry's size; its errors are rethrown.
    /// - Throws: `damagedContent` when data, size or CRC do not match; `inputOutput`.
    public func extract(
        _ entry: ArchiveEntry, to sink: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let reader = reader(of: entry)
        while let part = try reader.next() { try sink(part) }
    }

    /// For unpacking an entry a part at a time.
    public func reader(of entry: ArchiveEntry) -> ArchiveEntryReader { ArchiveEntryReader(source, entry) }

    /// Reads a small entry whole.
    /// - Throws: like `extract(_:to:)`; `tooLarge` when it has more than `limitBytes`.
    public func content(of entry: ArchiveEntry, limitBytes: Int = 16 << 20) throws(BackupError) -> [UInt8] {
        guard entry.size <= UInt64(limitBytes) else {
            throw ArchiveFailure.tooLarge(
                "\(ArchiveFailure.quoted(entry.path)) has \(entry.size) bytes, more than \(limitBytes).")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(entry.size))
        try extract(entry) { (part) throws(BackupError) in bytes.append(contentsOf: part) }
        return bytes
    }

    /// Finds names that are identical on other systems. Keeps only hashes: the chance of a false alarm is 1 in 10^7 for a million
    /// names, and it is only a warning.
    private static func collisions(in directory: ArchiveDirectory) -> [Message] {
        var seen = Set<Int>(minimumCapacity: directory.records.count)
        var warnings: [Message] = []
        for record in directory.records {
            let name = directory.name(of: record)
            // Swift strings compare equal when they are canonically equivalent.
            if seen.insert(String(decoding: name, as: UTF8.self).lowercased().hashValue).inserted { continue }
            guard warnings.count < warningCountLimit else { break }
            let shown = ArchiveFailure.quoted(name)
            warnings.append("The name \(shown) differs from another one only in case or in how accents are written.")
        }
        return warnings
    }
}

/// The entries of an archive, in archive order. Their form is compact: an archive of a million entries needs well below 200 MB.
public struct ArchiveEntryList: RandomAccessCollection, Sendable {
    let directory: ArchiveDirectory
    /// Length of the common leading folder that is stripped from the paths, with its slash.
    let prefixCount: Int
    /// The entry of that folder itself, which is omitted.
    let omittedIndex: Int?

    public var startIndex: Int { 0 }
    public var endIndex: Int { directory.records.count - (omittedIndex == nil ? 0 : 1) }

    public subscript(position: Int) -> ArchiveEntry {
        let index = if let omittedIndex, position >= omittedIndex { position + 1 } else { position }
        let record = directory.records[index]
        return ArchiveEntry(
            path: Array(directory.name(of: record).dropFirst(prefixCount)),
            permissions: record.hasMode ? UInt32(record.mode & 0o7777) : nil, modificationTime: record.modificationTime,
            size: record.size, compressedSize: record.compressedSize, crc32: record.crc32,
            isSymbolicLink: UInt32(record.mode) & FileTypeBits.mask == FileTypeBits.symbolicLink,
            isDeflated: record.isDeflated, dataOffset: record.dataOffset)
    }
}

extension ArchiveFormat {
    /// The layout for archives of this format.
    public var layout: any ArchiveLayout.Type {
        switch self {
        case .tar: TARLayout.self
        case .zip: ZIPLayout.self
        }
    }
}
