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
    /// A collection in the newest backup.
    private struct Earlier {
        let rows: RenderedRows
        let content: FileContent
        /// For each leaf of the table now, the number of the leaf with the same bytes then; `nil` for one that has changed.
        let origins: [Int?]

        /// - Returns: `nil` when too few leaves are the same.
        init?(_ rows: RenderedRows, _ content: FileContent, now leaves: TableLeaves) {
            var origin = 0
            let origins = leaves.digests.enumerated().map { number, digest -> Int? in
                while origin < rows.leaves.count, rows.lastRows[origin] < leaves.lastRows[number] { origin += 1 }
                // The separator before the first row is another than those between rows.
                guard origin < rows.leaves.count, rows.leaves[origin] == digest, digest != .unknown,
                    (origin == 0) == (number == 0)
                else { return nil }
                return origin
            }
            guard origins.count(where: { $0 != nil }) * 2 >= origins.count else { return nil }
            self.rows = rows
            self.content = content
            self.origins = origins
        }
    }

    /// A collection whose rows are in the leaves of one table, in their order.
    private final class Part {
        let index: Int
        let form: SHA256Digest
        let leaves: TableLeaves
        /// `nil` to render all.
        let earlier: Earlier?
        /// Of the leaves that are rendered.
        let renderedEnds: LeafEnds
        /// What was rendered of it, if not all of it.
        var rendered: SpoolFile?

        init(index: Int, form: SHA256Digest, leaves: TableLeaves, earlier: Earlier?) {
            self.index = index
            self.form = form
            self.leaves = leaves
            self.earlier = earlier
            let rowCounts =
                earlier.map { zip(leaves.rowCounts, $0.origins).filter { $0.1 == nil }.map(\.0) } ?? leaves.rowCounts
            renderedEnds = LeafEnds(rowCounts: rowCounts)
        }

        /// Whether the table has the same rows as in the newest backup.
        var isUnchanged: Bool {
            earlier.map { $0.origins.count == $0.rows.leaves.count && !$0.origins.contains(nil) } ?? false
        }

        /// The row numbers of the leaves that are rendered, if not all are.
        var changedRows: [ClosedRange<Int64>] {
            guard let origins = earlier?.origins else { return [] }
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

        /// The ends of all leaves in the whole collection, and the pieces of which it consists if not all is rendered. For when
        /// everything is rendered.
        lazy var layout: (ends: [UInt64], pieces: [SplicedFile.Piece]) = {
            guard let earlier, let rendered else { return (renderedEnds.ends, []) }
            var all: [UInt64] = []
            all.reserveCapacity(earlier.origins.count)
            var pieces: [SplicedFile.Piece] = []
            var position: UInt64 = 0
            var changed = 0
            for origin in earlier.origins {
                let piece: SplicedFile.Piece
                if let origin {
                    piece = .earlier((origin == 0 ? 0 : earlier.rows.ends[origin - 1])..<earlier.rows.ends[origin])
                } else {
                    piece = .new((changed == 0 ? 0 : renderedEnds.ends[changed - 1])..<renderedEnds.ends[changed])
                    changed += 1
                }
                position += piece.byteCount
                all.append(position)
                pieces.append(joining: piece)
            }
            // The end of the array.
            if earlier.origins.last == .some(earlier.rows.leaves.count - 1) {
                pieces.append(joining: .earlier((earlier.rows.ends.last ?? 0)..<earlier.content.size))
            } else {
                pieces.append(joining: .new((renderedEnds.ends.last ?? 0)..<rendered.size))
            }
            return (all, pieces)
        }()
    }

    /// A table with fewer leaves is not worth the trouble, and what is kept of more, in all tables, takes too much memory: 100
    /// bytes for each leaf.
    private static let leafCounts = 64...500_000

    private let folder: String
    private let repository: Repository
    private let formPrefix: String
    private let previous: PreviousBackup
    private let usesEarlier: Bool
    /// By the names of the collections.
    private var parts: [String: Part] = [:]
    /// Of the parts that are rendered as a whole, by the index of the collection: it is asked for each record.
    private var endsOfWhole: [LeafEnds?] = []
    /// Of all parts.
    private var leafCount = 0

    /// - Parameters:
    ///   - folder: of the records of the newest backup (`RenderedRows`).
    ///   - repository: of the newest backup.
    ///   - form: what rendering depends on, besides a table's form.
    ///   - previous: the newest backup.
    ///   - usesEarlier: whether rows may be taken from it.
    init(folder: String, repository: Repository, form: String, previous: PreviousBackup, usesEarlier: Bool) {
        self.folder = folder
        self.repository = repository
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
        endsOfWhole = Array(repeating: nil, count: snapshot.definition.collections.count)
        for (index, tree) in try snapshot.rowTrees().sorted(by: { $0.key < $1.key }) {
            let name = snapshot.definition.collections[index].name
            guard
                let leaves = try TableLeaves(
                    of: copy, rootPage: tree.rootPage, limit: Self.leafCounts.upperBound - leafCount),
                leaves.count >= Self.leafCounts.lowerBound
            else { continue }
            leafCount += leaves.count
            let form = SHA256Hasher.hash(Array("\(formPrefix)\n\(snapshot.definition.schemaVersion)\n".utf8) + tree.form)
            let part = Part(
                index: index, form: form, leaves: leaves, earlier: earlier(name, form: form, now: leaves))
            parts[name] = part
            if part.earlier == nil { endsOfWhole[index] = part.renderedEnds }
        }
    }

    private func earlier(_ name: String, form: SHA256Digest, now leaves: TableLeaves) -> Earlier? {
        guard usesEarlier, let rows = RenderedRows(name, in: folder), rows.form == form,
            let content = previous.content(["data", FileName("\(name).json")]), content.fingerprint == rows.content
        else { return nil }
        return Earlier(rows, content, now: leaves)
    }

    /// The collections, by their index, that are not rendered as a whole.
    var omittedCollections: Set<Int> { Set(parts.values.filter { $0.earlier != nil }.map(\.index)) }

    /// Whether rows of the newest backup are taken.
    var takesRows: Bool { parts.values.contains { $0.earlier != nil } }

    /// Call it after each record of a collection that is rendered as a whole, with its bytes so far.
    /// - Parameter collection: its index in the definition.
    func recordEnded(_ collection: Int, _ byteCount: UInt64) {
        if collection < endsOfWhole.count { endsOfWhole[collection]?.rowEnded(byteCount) }
    }

    /// Renders the changed rows of the other collections.
    /// - Parameter workFolder: for files that are unlinked immediately.
    /// - Returns: what was found in them.
    func renderChanged(_ snapshot: DatabaseSnapshot, in workFolder: String) throws(BackupError) -> [WireStatistics] {
        var all: [WireStatistics] = []
        for part in parts.values.sorted(by: { $0.index < $1.index }) {
            guard let earlier = part.earlier else { continue }
            let path = "\(workFolder)/rows.json"
            let sink = DescriptorSink(try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL))
            all.append(
                try WireWriter().writeRecords(
                    of: part.index, in: part.changedRows, includingFirst: earlier.origins.first == .some(nil), of: snapshot,
                    to: sink, recordEnded: part.renderedEnds.rowEnded))
            part.rendered = try SpoolFile(consuming: path)
        }
        return all
    }

    /// Whether the changed leaves had the rows that they should.
    var isConsistent: Bool { parts.values.allSatisfy { $0.earlier == nil || $0.renderedEnds.isComplete } }

    /// The rows that have to be checked for values that a restore would refuse, for collections of which not all have to be: the
    /// newest backup had no such values, and other rows of these collections are as they were then. So are all records to which
    /// they refer; and no other collection refers to them.
    /// - Parameters:
    ///   - definition: of the snapshot.
    ///   - rendered: what was rendered of each collection.
    func rowsToCheck(
        _ definition: AppDefinition, _ rendered: [(name: String, file: SpoolFile)]
    ) throws(BackupError) -> RowRanges {
        guard RefusedValues(of: previous.snapshot) == nil else { return [:] }
        let targets = definition.collections.map(\.requiredTargets)
        let allTargets = targets.reduce(into: Set()) { $0.formUnion($1) }
        var unchanged: Set<Int> = []
        for target in allTargets {
            let name = definition.collections[target].name
            guard let file = rendered.first(where: { $0.name == name })?.file else { continue }
            if try isUnchanged(name, file) { unchanged.insert(target) }
        }
        var ranges: RowRanges = [:]
        for part in parts.values where part.earlier != nil && !allTargets.contains(part.index) {
            if targets[part.index].isSubset(of: unchanged) { ranges[part.index] = part.changedRows }
        }
        return ranges
    }

    /// Whether a collection has the same records as in the newest backup; false if finding out takes too long.
    private func isUnchanged(_ name: String, _ rendered: SpoolFile) throws(BackupError) -> Bool {
        if let part = parts[name], part.earlier != nil { return part.isUnchanged }
        guard rendered.size <= Self.comparedLimitBytes,
            let content = previous.content(["data", FileName("\(name).json")]), content.size == rendered.size
        else { return false }
        let size = Int(rendered.size)
        let bytes = try rendered.bytes(at: 0, upTo: size)
        // What is damaged is not the same.
        let earlier = try? StoredContentSource(content, in: repository).bytes(at: 0, upTo: size)
        return bytes.count == size && bytes == earlier
    }

    private static let comparedLimitBytes: UInt64 = 1 << 20

    /// A collection that is not rendered as a whole.
    struct SplicedCollection {
        let file: SplicedFile
        let earlier: FileContent
        let chunkCRC32s: [UInt32]
    }

    /// - Returns: `nil` for a collection that is rendered as a whole.
    func splice(_ name: String) -> SplicedCollection? {
        guard let part = parts[name], let earlier = part.earlier, let rendered = part.rendered else { return nil }
        return SplicedCollection(
            file: SplicedFile(
                part.layout.pieces, earlier: StoredContentSource(earlier.content, in: repository), new: rendered),
            earlier: earlier.content, chunkCRC32s: earlier.rows.chunkCRC32s)
    }

    /// Keeps what the next backup has to know of a collection.
    func keep(_ name: String, stored: StoredDerivedFile) {
        guard let part = parts[name], !stored.chunkCRC32s.isEmpty, part.renderedEnds.isComplete else { return }
        RenderedRows(
            form: part.form, content: stored.content.fingerprint, chunkCRC32s: stored.chunkCRC32s, leaves: part.leaves,
            ends: part.layout.ends
        ).keep(name, in: folder)
    }

    /// Removes the records of collections that are not there any more, and what a crash has left.
    func removeOthers() { RenderedRows.removeAll(in: folder, besides: Array(parts.keys)) }
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
