import BackupCore

/// A folder of a snapshot, as its directory object records it.
public struct Directory: Sendable {
    /// Sorted by the bytes of their names, each name once.
    public let entries: [TreeEntry]
    public let totals: DirectoryTotals

    /// A million entries with long names stay below it: it limits the memory that reading a damaged object takes.
    static let byteCountLimit = 1 << 30

    /// Sorts the entries.
    /// - Throws: `invalidArgument` for a name that occurs twice or is not a safe path component.
    public init(entries: some Sequence<TreeEntry>) throws(BackupError) {
        var sorted = Array(entries)
        // The check is cheaper than sorting a copy of a million entries.
        let isSorted = sorted.indices.dropFirst().allSatisfy { !(sorted[$0].name < sorted[$0 - 1].name) }
        if !isSorted { sorted.sort { $0.name < $1.name } }
        for (index, entry) in sorted.enumerated() {
            guard entry.name.isSafeComponent else {
                throw BackupError(.invalidArgument, "the name “\(MessageText.name(entry.name.bytes))” cannot be stored")
            }
            if index > 0, sorted[index - 1].name == entry.name {
                throw BackupError(.invalidArgument, "the name “\(MessageText.name(entry.name.bytes))” occurs twice in a folder")
            }
        }
        self.init(sorted: sorted)
    }

    private init(sorted: [TreeEntry]) {
        entries = sorted
        totals = DirectoryTotals(of: sorted)
    }

    /// The index of `name` in `entries`.
    public func index(named name: FileName) -> Int? {
        let place = entries.partitioningIndex { $0.name >= name }
        return place < entries.count && entries[place].name == name ? place : nil
    }

    /// The entry of exactly that name, by a binary search.
    public func entry(named name: FileName) -> TreeEntry? { index(named: name).map { entries[$0] } }
}

/// The encoding of a folder (format document, "Directory object").
extension Directory {
    private static let magic: [UInt8] = Array("BFSD".utf8)
    /// In version 2, entries may have metadata; in version 3, files may have their CRC-32 alone. A folder is written in the
    /// oldest version that can hold it, so that older programs read it.
    static let plainVersion: UInt16 = 1
    static let metadataVersion: UInt16 = 2
    static let derivedVersion: UInt16 = 3
    /// The shortest entry: kind, flags, a name of one byte, mode, time, an empty content.
    private static let shortestEntryByteCount = 24

    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(entries.reduce(Self.plainVersion) { max($0, $1.directoryVersion) })
        writer.append(UInt16(0))
        writer.append(UInt32(entries.count))
        for entry in entries { entry.encode(into: &writer) }
        return writer.bytes
    }

    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        var entries: [TreeEntry] = []
        try Self.decode(bytes, willRead: { entries.reserveCapacity($0) }) { entries.append($0) }
        self.init(sorted: entries)
    }

    /// Whether `bytes` decode to this folder. Does not allocate a second folder.
    /// - Throws: as decoding does.
    func isEqual(toEncoded bytes: [UInt8]) throws(BackupError) -> Bool {
        var count = 0
        var isEqual = true
        try Self.decode(bytes, willRead: { isEqual = $0 == entries.count }) { entry in
            isEqual = isEqual && entries[count] == entry
            count += 1
        }
        return isEqual
    }

    /// - Parameter willRead: called with the number of entries.
    private static func decode(
        _ bytes: [UInt8], willRead: (Int) -> Void, _ body: (TreeEntry) -> Void
    ) throws(BackupError) {
        var reader = ByteReader(bytes)
        let version = try StructureHeader.read(
            &reader, magic: magic, versions: plainVersion...derivedVersion, name: "directory object")
        let count = Int(try reader.read(UInt32.self))
        guard count <= reader.remainingCount / shortestEntryByteCount else {
            throw BackupError(.repositoryDamaged, "a directory object has more entries than bytes")
        }
        willRead(count)
        var lastName: FileName?
        for _ in 0..<count {
            let entry = try TreeEntry(decoding: &reader, version: version)
            if let lastName, !(lastName < entry.name) {
                throw BackupError(.repositoryDamaged, "a directory object is not sorted")
            }
            lastName = entry.name
            body(entry)
        }
        guard reader.isAtEnd else { throw BackupError(.repositoryDamaged, "a directory object has bytes after its end") }
    }
}

/// A folder whose directory object is in the repository, once the backup that stored it is committed.
public struct StoredDirectory: Hashable, Sendable {
    /// The directory object's bytes.
    public let content: FileContent
    public let totals: DirectoryTotals

    public init(content: FileContent, totals: DirectoryTotals) {
        self.content = content
        self.totals = totals
    }
}
