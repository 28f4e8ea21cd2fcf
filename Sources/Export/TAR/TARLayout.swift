import BackupCore

/// Lays files out as one tar archive without building it (POSIX.1-2001: ustar headers, and extended ones where needed). The contents are the stored
/// chunks, so reading the archive costs as much as reading its files; everything between them is generated on read from one small list.
///
/// The same members in the same order must give the same bytes forever: a change to the written format needs a new `version`, and the old one must
/// still be served for the snapshots that were created with it.
public struct TARLayout: ArchiveLayout {
    /// The version of the rules for writing; recorded with each snapshot.
    public static let version: UInt32 = 1

    private var table = ExtentTable()
    private let headers = TARHeaderSource()
    /// How much of the headers is already in the table.
    private var placedLength: UInt64 = 0
    private var counter = SizeCounter()

    public init() {}

    /// Adds one entry. Writes names unchanged; the caller must ensure that they are unique.
    /// - Throws: `invalidArgument` for an empty name or a folder with content; `repositoryDamaged` when the pieces do not add up to the
    ///   member's size. The layout is unchanged then.
    public mutating func append(_ member: ArchiveMember) throws(BackupError) {
        let entry = try TAREntry(member)
        let total = member.content.reduce(0) { $0 + $1.length }
        guard total == member.size else {
            throw BackupError(
                .repositoryDamaged, "the pieces of the file have \(total) bytes together instead of \(member.size)",
                path: String(decoding: member.path, as: UTF8.self))
        }
        let length = headers.update { (list) -> UInt64 in
            list.append(entry)
            return list.length
        }
        counter.append(entry)
        guard entry.size > 0 else { return }
        place(upTo: length - entry.paddingSize)
        for piece in member.content { table.append(piece) }
    }

    /// Closes the archive with its end marker.
    public consuming func finish() -> ExtentTable {
        place(upTo: headers.update { $0.length } + counter.endSize)
        table.trim()
        headers.update { $0.trim() }
        assert(table.size == counter.archivedSize, "the size is known before the bytes are")
        return table
    }

    private mutating func place(upTo length: UInt64) {
        table.append(Extent.source(headers, offset: placedLength, length: length - placedLength))
        placedLength = length
    }
}
