import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Which bytes of a stored collection were rendered from which leaf of its table: the next backup renders only leaves that have
/// changed. It is a cache. Without it, or if it is not of the newest backup's collection, the collection is rendered as a whole.
struct RenderedRows: Equatable {
    /// What else the bytes depend on: the definition, the program's way of rendering, and the table's form.
    let form: SHA256Digest
    /// Of the collection's content.
    let content: SHA256Digest
    /// Of the content's chunks, in order.
    let chunkCRC32s: [UInt32]
    /// In the order of the table.
    let leaves: [TableLeaves.Digest]
    /// The last row number of each leaf.
    let lastRows: [Int64]
    /// The end of each leaf's rows in the collection, in bytes. The first one's begin at its start.
    let ends: [UInt64]

    private static let magic = Array("backupfs rendered rows 1\n".utf8)
    private static let limitBytes = 64 << 20

    init(
        form: SHA256Digest, content: SHA256Digest, chunkCRC32s: [UInt32], leaves: TableLeaves, ends: [UInt64]
    ) {
        self.form = form
        self.content = content
        self.chunkCRC32s = chunkCRC32s
        self.leaves = leaves.digests
        lastRows = leaves.lastRows
        self.ends = ends
    }

    // MARK: On disk

    /// Reads the record of a collection.
    /// - Returns: `nil` when there is none, or it is damaged.
    init?(_ collection: String, in folder: String) {
        let path = Self.path(collection, in: folder)
        guard let body = CacheRecord.body(of: path, magic: Self.magic, limitBytes: Self.limitBytes),
            let rows = try? Self(decoding: body)
        else { return nil }
        self = rows
    }

    private init(decoding bytes: ArraySlice<UInt8>) throws(BackupError) {
        var reader = ByteReader(bytes)
        form = try reader.readDigest()
        content = try reader.readDigest()
        let chunkCount = Int(try reader.read(UInt32.self))
        let leafCount = Int(try reader.read(UInt32.self))
        guard reader.remainingCount == chunkCount * 4 + leafCount * 32 else {
            throw BackupError(.damagedContent, .verbatim("a record of rendered rows has the wrong length"))
        }
        var sums: [UInt32] = []
        sums.reserveCapacity(chunkCount)
        for _ in 0..<chunkCount { sums.append(try reader.read()) }
        var leaves: [TableLeaves.Digest] = []
        var lastRows: [Int64] = []
        var ends: [UInt64] = []
        leaves.reserveCapacity(leafCount)
        lastRows.reserveCapacity(leafCount)
        ends.reserveCapacity(leafCount)
        for _ in 0..<leafCount {
            leaves.append(TableLeaves.Digest(try reader.read(), try reader.read()))
            lastRows.append(try reader.read())
            ends.append(try reader.read())
        }
        chunkCRC32s = sums
        self.leaves = leaves
        self.lastRows = lastRows
        self.ends = ends
    }

    /// Keeps the record for the next backup. If that fails, the next one renders everything.
    func keep(_ collection: String, in folder: String) {
        CacheRecord.keep(at: Self.path(collection, in: folder), magic: Self.magic) { writer in
            writer.append(form)
            writer.append(content)
            writer.append(UInt32(chunkCRC32s.count))
            writer.append(UInt32(leaves.count))
            for sum in chunkCRC32s { writer.append(sum) }
            for number in leaves.indices {
                writer.append(leaves[number].first)
                writer.append(leaves[number].second)
                writer.append(lastRows[number])
                writer.append(ends[number])
            }
        }
    }

    /// Removes the records of other collections, and drafts that a killed backup left. Files of other names stay, and so does
    /// everything in the folder that a symbolic link in its place names.
    /// - Parameter collections: whose records stay.
    static func removeAll(in folder: String, besides collections: [String]) {
        guard let handle = try? DirectoryHandle(path: folder, followsLink: false), let names = try? handle.names() else { return }
        let kept = Set(collections.map { FileSystem.lastComponent(path($0, in: folder)) })
        for name in names where !kept.contains(name.description) && isOwn(name.description) {
            try? handle.removeFile(name)
        }
    }

    private static func isOwn(_ name: String) -> Bool {
        let digits = name.prefix(nameLength)
        let rest = name.dropFirst(nameLength)
        return digits.utf8.count == nameLength && digits.utf8.allSatisfy("0123456789abcdef".utf8.contains)
            && (rest.isEmpty || rest.hasPrefix(FileSystem.draftMark))
    }

    /// Names of collections can have any characters, and any length.
    private static func path(_ collection: String, in folder: String) -> String {
        "\(folder)/\(SHA256Hasher.hash(Array(collection.utf8)).hexadecimal.prefix(nameLength))"
    }

    private static let nameLength = 32
}

/// Notes where the rows of each leaf end while a collection is rendered.
final class LeafEnds {
    private let rowCounts: [Int32]
    private(set) var ends: [UInt64] = []
    private var rowsLeft: Int32

    /// - Parameter rowCounts: of the leaves that are rendered.
    init(rowCounts: [Int32]) {
        self.rowCounts = rowCounts
        rowsLeft = rowCounts.first ?? 0
        ends.reserveCapacity(rowCounts.count)
    }

    /// Call it after each row, with the bytes so far.
    func rowEnded(_ byteCount: UInt64) {
        rowsLeft -= 1
        guard rowsLeft == 0 else { return }
        ends.append(byteCount)
        rowsLeft = ends.count < rowCounts.count ? rowCounts[ends.count] : 0
    }

    /// Whether all rows of all leaves came, and no others.
    var isComplete: Bool { ends.count == rowCounts.count && rowsLeft == 0 }
}
