import BackupCore

/// An archive's directory in memory: fixed-size records, and one buffer for all names. Refuses ambiguous names, for which the
/// chosen file would depend on the program.
struct ArchiveDirectory: Sendable {
    struct Record: Sendable {
        var nameStart: UInt32 = 0
        var nameLength: UInt32 = 0
        /// `st_mode` where `hasMode`.
        var mode: UInt16
        var hasMode: Bool
        var isDeflated = false
        /// `nil` where the format has none
        var crc32: UInt32?
        var size: UInt64
        var compressedSize: UInt64
        /// Where the content starts in the archive; for a link, the content is its target.
        var dataOffset: UInt64 = 0
        var modificationTime: Timestamp
    }

    private(set) var records: [Record] = []
    private var names: [UInt8] = []
    /// Record numbers in name order, with `/` before every other byte: the content of a folder follows it directly.
    private var sortedByName: [Int32] = []
    /// The unpacked size of all entries.
    private(set) var totalSizeBytes: UInt64 = 0

    func name(of record: Record) -> ArraySlice<UInt8> {
        names[Int(record.nameStart)..<Int(record.nameStart) + Int(record.nameLength)]
    }

    mutating func reserve(_ count: Int) { records.reserveCapacity(count) }

    /// - Throws: `tooLarge` over a limit.
    mutating func append(_ record: Record, name: ArraySlice<UInt8>, _ limits: ArchiveLimits) throws(BackupError) {
        guard records.count < min(limits.entryCount, Int(Int32.max)) else {
            throw ArchiveFailure.tooLarge("The archive has more than \(limits.entryCount) entries.")
        }
        guard name.count <= limits.nameSizeBytes, names.count + name.count <= min(limits.namesTotalSizeBytes, Int(Int32.max))
        else {
            throw ArchiveFailure.tooLarge("The name \(ArchiveFailure.quoted(name)), or all names together, are too long.")
        }
        let (sum, isOverflowing) = totalSizeBytes.addingReportingOverflow(record.size)
        guard !isOverflowing, sum <= limits.totalSizeBytes else {
            throw ArchiveFailure.tooLarge("The archive unpacks to more than \(limits.totalSizeBytes) bytes.")
        }
        totalSizeBytes = sum
        var record = record
        record.nameStart = UInt32(names.count)
        record.nameLength = UInt32(name.count)
        names.append(contentsOf: name)
        records.append(record)
    }

    mutating func setDataOffset(_ offset: UInt64, of index: Int) { records[index].dataOffset = offset }

    /// To be called after the last entry.
    /// - Parameter archiveSizeBytes: the size of the whole archive.
    /// - Throws: `tooLarge` for a decompression bomb, `invalidContent` for contradictory names.
    mutating func finish(archiveSizeBytes: UInt64, _ limits: ArchiveLimits) throws(BackupError) {
        guard totalSizeBytes <= limits.ratioFreeSizeBytes || totalSizeBytes / limits.ratio <= archiveSizeBytes else {
            throw ArchiveFailure.tooLarge(
                "The archive unpacks to \(totalSizeBytes) bytes, more than \(limits.ratio) times its own size.")
        }
        try sortNames()
    }

    /// The number of the entry with exactly this name.
    func index(of path: some Collection<UInt8>) -> Int? {
        let place = sortedByName.partitioningIndex { !Self.precedes(name(of: records[Int($0)]), path) }
        guard place < sortedByName.count else { return nil }
        let index = Int(sortedByName[place])
        return name(of: records[index]).elementsEqual(path) ? index : nil
    }

    private static func precedes(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        left.lexicographicallyPrecedes(right) { sortKey($0) < sortKey($1) }
    }

    /// NUL does not occur in names.
    private static func sortKey(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "/") ? 0 : byte }

    /// With two entries of one name, or an entry below a file, the chosen one would depend on the program.
    private mutating func sortNames() throws(BackupError) {
        let order = names.withUnsafeBufferPointer { names in
            records.withUnsafeBufferPointer { records in
                func name(_ index: Int32) -> UnsafeBufferPointer<UInt8> {
                    let record = records[Int(index)]
                    let start = Int(record.nameStart)
                    return UnsafeBufferPointer(rebasing: names[start..<start + Int(record.nameLength)])
                }
                return (0..<Int32(records.count)).sorted { Self.precedes(name($0), name($1)) }
            }
        }
        sortedByName = order
        for (first, second) in zip(order, order.dropFirst()) {
            let left = name(of: records[Int(first)])
            let right = name(of: records[Int(second)])
            guard left != right else {
                throw ArchiveFailure.refused("The archive has two entries named \(ArchiveFailure.quoted(left)).")
            }
            guard
                left.last == UInt8(ascii: "/") || !right.starts(with: left)
                    || right.dropFirst(left.count).first != UInt8(ascii: "/")
            else {
                throw ArchiveFailure.refused(
                    "The entry \(ArchiveFailure.quoted(left)) is a file, and \(ArchiveFailure.quoted(right)) would be inside it.")
            }
        }
    }
}

/// One entry of an archive that `ArchiveReader` has accepted.
public struct ArchiveEntry: Sendable {
    /// Path in the archive, components joined by `/`, as bytes; folders end with `/`. Every component is safe to create.
    public let path: [UInt8]
    /// Permission bits, if the archive comes from a system that has them.
    public let permissions: UInt32?
    /// Exact to the second if a ZIP archive has an extended timestamp, otherwise the MS-DOS time taken as UTC. Exact in a tar
    /// archive that has such times.
    public let modificationTime: Timestamp
    /// Unpacked size in bytes.
    public let size: UInt64
    /// Size in the archive in bytes.
    public let compressedSize: UInt64
    /// CRC-32 of the unpacked bytes, as stored in the archive; `nil` in a tar archive.
    public let crc32: UInt32?
    /// The content is then the link's target.
    public let isSymbolicLink: Bool
    let isDeflated: Bool
    /// Where the entry's data starts in the archive.
    let dataOffset: UInt64

    /// Whether the path ends with `/`.
    public var isDirectory: Bool { path.last == UInt8(ascii: "/") }

    /// For display; bytes that are not UTF-8 become U+FFFD.
    public var name: String { String(decoding: path, as: UTF8.self) }
}

/// The file types of `st_mode`.
enum FileTypeBits {
    static let mask: UInt32 = 0o170000
    static let regularFile: UInt32 = 0o100000
    static let directory: UInt32 = 0o040000
    static let symbolicLink: UInt32 = 0o120000
}
