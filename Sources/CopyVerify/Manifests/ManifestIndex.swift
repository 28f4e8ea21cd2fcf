import BackupCore
import Formats
import SystemIO

/// What lists of checksums say, by path: in a file of the job, with 17 bytes of memory for each entry. For one thread.
final class ManifestIndex {
    private static let linePartByteCount = 1_024

    private struct Slot {
        let hash: Int
        let offset: UInt64
        var isTaken = false
    }

    /// An entry, and the list that has it.
    struct Line: Sendable {
        let entry: ManifestEntry
        /// Below the source, for people.
        let list: String
        /// The folder of its ASC MHL history: the first digest of each algorithm in it counts. `nil` for another list, of which
        /// all do.
        let history: String?
        /// The file was renamed later on; the digests are those that it has under its new name.
        let isGone: Bool
    }

    private let path: String
    private let output: BufferedOutput
    private var offset: UInt64 = 0
    private var slots: [Slot] = []
    private var file: SharedFile?

    /// The algorithms that entries have.
    private(set) var algorithms: Set<HashAlgorithm> = []
    var isEmpty: Bool { slots.isEmpty }

    /// - Parameter path: of the file; an earlier one is replaced.
    init(_ path: String) throws(BackupError) {
        self.path = path
        output = try BufferedOutput(making: path)
    }

    func add(_ line: Line) throws(BackupError) {
        var members = ResultRow.path("path", line.entry.path)
        members.append(.init("size", line.entry.size))
        for algorithm in HashAlgorithm.allCases {
            if let text = line.entry.digests.text(algorithm) { members.append(.init(algorithm.rawValue, text)) }
        }
        members.append(.init("list", line.list))
        if let history = line.history { members.append(.init("history", history)) }
        if line.isGone { members.append(.init("gone", true)) }
        algorithms.formUnion(line.entry.digests.algorithms)
        slots.append(Slot(hash: line.entry.path.hashValue, offset: offset))
        let text = OrderedJSON.object(members).compactText + [10]
        offset += UInt64(text.count)
        try output.add(text)
    }

    /// After the last entry.
    func finish() throws(BackupError) {
        try output.flush()
        slots.sort { ($0.hash, $0.offset) < ($1.hash, $1.offset) }
        file = try SharedFile(path: path)
    }

    /// What is said of a file, in the order in which it was added. The entries count as taken.
    func take(_ path: [UInt8]) throws(BackupError) -> [Line] {
        let hash = path.hashValue
        var lines: [Line] = []
        var index = slots.partitioningIndex { $0.hash >= hash }
        while index < slots.count, slots[index].hash == hash {
            let line = try read(slots[index].offset)
            // Two paths can have one hash.
            if line.entry.path == path {
                slots[index].isTaken = true
                lines.append(line)
            }
            index += 1
        }
        return lines
    }

    /// Passes on what is said of each file that was not asked for.
    func forEachLeft(_ body: ([Line]) throws(BackupError) -> Void) throws(BackupError) {
        for index in slots.indices.sorted(by: { slots[$0].offset < slots[$1].offset }) where !slots[index].isTaken {
            try body(take(read(slots[index].offset).entry.path))
        }
    }

    private func read(_ offset: UInt64) throws(BackupError) -> Line {
        guard let file else { throw BackupError(.badHandle, "the list is not complete yet", path: path) }
        var lines = LineFile(file, from: offset, partByteCount: Self.linePartByteCount)
        guard let text = try lines.next() else {
            throw BackupError(.inputOutput, "the file has changed", path: path, remedy: "Resume the job.")
        }
        let members = JSONMembers(text)
        guard let path = RecordedRow.path("path", members), let list = members.text("list") else {
            throw BackupError(.inputOutput, "the file has changed", path: self.path, remedy: "Resume the job.")
        }
        return Line(
            entry: ManifestEntry(path: path, size: members.number("size"), digests: FileDigests(members)), list: list,
            history: members.text("history"), isGone: members.flag("gone"))
    }
}

extension FileDigests {
    /// Those that a row or an entry has.
    init(_ members: JSONMembers) {
        self.init()
        for algorithm in HashAlgorithm.allCases {
            if let text = members.text(algorithm.rawValue) { set(algorithm, text) }
        }
    }
}
