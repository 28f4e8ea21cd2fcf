import BackupCore

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
            isSymbolicLink: UInt32(record.mode) & ZIPFormat.fileTypeMask == ZIPFormat.symbolicLinkType,
            isDeflated: record.isDeflated, dataOffset: record.dataOffset)
    }
}
