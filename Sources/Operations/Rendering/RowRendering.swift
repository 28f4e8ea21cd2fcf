import AppData
import BackupCore
import BackupRepository
import Formats
import Glibc
import Synchronization
import SystemIO

/// Whether rows of the newest backup are taken into a new one.
final class EarlierRows: Sendable {
    let mayBeTaken: Bool
    private let taken = Atomic(false)

    /// - Parameter mayBeTaken: false to render all.
    init(mayBeTaken: Bool = true) { self.mayBeTaken = mayBeTaken }

    /// Whether any are.
    var areTaken: Bool { taken.load(ordering: .relaxed) }
    func noteTaken() { taken.store(true, ordering: .relaxed) }
}

/// What a backup renders of large collections: only the rows in leaves that have changed since the newest backup. All other bytes
/// are those of that backup.
///
/// A leaf with the same bytes has the same rows, and they are rendered as before if the rest is the same on which that depends
/// (`RenderedRows.form`).
final class RowRendering {
    /// A collection whose rows are in the leaves of one table, in their order.
    private final class Part {
        let index: Int
        let name: String
        let form: SHA256Digest
        let leaves: TableLeaves
        /// For each leaf that is taken from the earlier version, its number there; `nil` to render all.
        var origins: [Int?]?
        var earlier: RenderedRows?
        let ends: LeafEnds
        /// What was rendered of it, if not all of it.
        var rendered: SpoolFile?

        init(index: Int, name: String, form: SHA256Digest, leaves: TableLeaves, earlier: RenderedRows?) {
            self.index = index
            self.name = name
            self.form = form
            self.leaves = leaves
            if let earlier, earlier.form == form, let origins = Self.origins(of: leaves, in: earlier) {
                self.origins = origins
                self.earlier = earlier
                ends = LeafEnds(rowCounts: zip(leaves.rowCounts, origins).filter { $0.1 == nil }.map(\.0))
            } else {
                ends = LeafEnds(rowCounts: leaves.rowCounts)
            }
        }

        /// - Returns: `nil` when too few leaves are the same.
        private static func origins(of leaves: TableLeaves, in earlier: RenderedRows) -> [Int?]? {
            var origin = 0
            let origins = leaves.digests.enumerated().map { number, digest -> Int? in
                while origin < earlier.leaves.count, earlier.lastRows[origin] < leaves.lastRows[number] { origin += 1 }
                // The separator before the first row is another than those between rows.
                guard origin < earlier.leaves.count, earlier.leaves[origin] == digest, digest != .unknown,
                    (origin == 0) == (number == 0)
                else { return nil }
                return origin
            }
            return origins.count { $0 != nil } * 2 >= origins.count ? origins : nil
        }

        /// The row numbers of the leaves that are rendered.
        var changedRows: [ClosedRange<Int64>] {
            guard let origins else { return [] }
            var ranges: [ClosedRange<Int64>] = []
            var number = 0
            while number < origins.count {
                let first = number
                while number < origins.count, origins[number] == nil { number += 1 }
                if number > first {
                    // The last row of any other leaf is not the greatest number: more rows follow.
                    let begin = first == 0 ? Int64.min : leaves.lastRows[first - 1] + 1
                    ranges.append(begin...leaves.lastRows[number - 1])
                }
                number += 1
            }
            return ranges
        }

        /// The ends of all leaves in the whole collection, and the pieces of which it consists.
        func layout(earlierSize: UInt64, renderedSize: UInt64) -> (ends: [UInt64], pieces: [SplicedFile.Piece]) {
            guard let origins, let earlier else { return (ends.ends, []) }
            var all: [UInt64] = []
            all.reserveCapacity(origins.count)
            var pieces: [SplicedFile.Piece] = []
            var position: UInt64 = 0
            var changed = 0
            for origin in origins {
                let piece: SplicedFile.Piece
                if let origin {
                    piece = .earlier((origin == 0 ? 0 : earlier.ends[origin - 1])..<earlier.ends[origin])
                } else {
                    piece = .new((changed == 0 ? 0 : ends.ends[changed - 1])..<ends.ends[changed])
                    changed += 1
                }
                position += piece.byteCount
                all.append(position)
                pieces.append(joining: piece)
            }
            // The end of the array.
            let lastEnd = earlier.ends.last ?? 0
            if origins.last == .some(earlier.leaves.count - 1) {
                pieces.append(joining: .earlier(lastEnd..<earlierSize))
            } else {
                pieces.append(joining: .new((ends.ends.last ?? 0)..<renderedSize))
            }
            return (all, pieces)
        }
    }

    /// A table with fewer leaves is not worth the trouble, and what is kept of more, in all tables, takes too much memory: 100
    /// bytes for each leaf.
    private static let leafCounts = 64...500_000

    private let folder: String
    private let formPrefix: String
    private let previous: PreviousBackup
    private let usesEarlier: Bool
    private var parts: [Int: Part] = [:]
    /// Of all parts.
    private var leafCount = 0

    /// - Parameters:
    ///   - folder: of the records of the newest backup (`RenderedRows`).
    ///   - form: what rendering depends on, besides a table's form.
    ///   - previous: the newest backup.
    ///   - usesEarlier: whether rows may be taken from it.
    init(folder: String, form: String, previous: PreviousBackup, usesEarlier: Bool) {
        self.folder = folder
        formPrefix = form
        self.previous = previous
        // Values that the export cannot hold are counted where they are rendered.
        self.usesEarlier = usesEarlier && InexactValues(of: previous.snapshot) == nil
    }

    /// Finds the collections of which only a part has to be rendered.
    /// - Parameters:
    ///   - snapshot: of the copy.
    ///   - copy: a copy of the database, without damage.
    func prepare(_ snapshot: DatabaseSnapshot, _ copy: SpoolFile) throws(BackupError) {
        for (index, collection) in snapshot.definition.collections.enumerated() {
            guard let tree = try snapshot.rowTree(of: index),
                let leaves = try TableLeaves(of: copy, rootPage: tree.rootPage, limit: Self.leafCounts.upperBound - leafCount),
                leaves.count >= Self.leafCounts.lowerBound
            else { continue }
            leafCount += leaves.count
            let form = SHA256Hasher.hash(Array("\(formPrefix)\n\(snapshot.definition.schemaVersion)\n".utf8) + tree.form)
            parts[index] = Part(
                index: index, name: collection.name, form: form, leaves: leaves, earlier: earlierRows(collection.name))
        }
    }

    private func earlierRows(_ name: String) -> RenderedRows? {
        guard usesEarlier, let rows = RenderedRows(name, in: folder), let content = content(name),
            content.fingerprint == rows.content
        else { return nil }
        return rows
    }

    private func content(_ name: String) -> FileContent? { previous.content(["data", FileName("\(name).json")]) }

    /// The collections, by their index, that are not rendered as a whole.
    var omittedCollections: Set<Int> { Set(parts.values.filter { $0.origins != nil }.map(\.index)) }

    /// Call it after each record of a collection that is rendered as a whole, with its bytes so far.
    func recordEnded(_ collection: Int, _ byteCount: UInt64) { parts[collection]?.ends.rowEnded(byteCount) }

    /// Renders the changed rows of the other collections.
    /// - Parameter workFolder: for files that are unlinked immediately.
    /// - Returns: what was found in them.
    func renderChanged(_ snapshot: DatabaseSnapshot, in workFolder: String) throws(BackupError) -> [WireStatistics] {
        var all: [WireStatistics] = []
        for part in parts.values.sorted(by: { $0.index < $1.index }) where part.origins != nil {
            let path = "\(workFolder)/rows.json"
            let sink = DescriptorSink(try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL))
            all.append(
                try WireWriter().writeRecords(
                    of: part.index, in: part.changedRows, includingFirst: part.origins?.first == .some(nil), of: snapshot,
                    to: sink, recordEnded: part.ends.rowEnded))
            part.rendered = try SpoolFile(consuming: path)
        }
        return all
    }

    /// Whether the changed leaves had the rows that they should.
    var isConsistent: Bool { parts.values.allSatisfy { $0.origins == nil || $0.ends.isComplete } }

    /// A collection that is not rendered as a whole.
    struct SplicedCollection {
        let file: SplicedFile
        let earlier: FileContent
        let chunkCRC32s: [UInt32]
    }

    /// - Returns: `nil` for a collection that is rendered as a whole.
    func splice(_ name: String, in repository: Repository) -> SplicedCollection? {
        guard let part = part(name), let rows = part.earlier, let rendered = part.rendered, let content = content(name) else {
            return nil
        }
        let pieces = part.layout(earlierSize: content.size, renderedSize: rendered.size).pieces
        return SplicedCollection(
            file: SplicedFile(pieces, earlier: StoredContentSource(content, in: repository), new: rendered), earlier: content,
            chunkCRC32s: rows.chunkCRC32s)
    }

    /// Keeps what the next backup has to know of a collection.
    func keep(_ name: String, stored: StoredDerivedFile) {
        guard let part = part(name), !stored.chunkCRC32s.isEmpty, part.ends.isComplete else { return }
        let ends = part.layout(earlierSize: content(name)?.size ?? 0, renderedSize: part.rendered?.size ?? 0).ends
        RenderedRows(
            form: part.form, content: stored.content.fingerprint, chunkCRC32s: stored.chunkCRC32s, leaves: part.leaves,
            ends: ends
        ).keep(name, in: folder)
    }

    /// Removes the records of collections that are not there any more, and what a crash has left.
    func removeOthers() { RenderedRows.removeAll(in: folder, besides: parts.values.map(\.name)) }

    private func part(_ name: String) -> Part? { parts.values.first { $0.name == name } }
}

extension SplicedFile.Piece {
    fileprivate var byteCount: UInt64 {
        switch self {
        case .earlier(let range), .new(let range): UInt64(range.count)
        }
    }
}

extension [SplicedFile.Piece] {
    /// Makes one piece of two that follow one another in their source.
    fileprivate mutating func append(joining piece: Element) {
        switch (last, piece) {
        case (.earlier(let before), .earlier(let next)) where before.upperBound == next.lowerBound:
            self[count - 1] = .earlier(before.lowerBound..<next.upperBound)
        case (.new(let before), .new(let next)) where before.upperBound == next.lowerBound:
            self[count - 1] = .new(before.lowerBound..<next.upperBound)
        default: append(piece)
        }
    }
}
