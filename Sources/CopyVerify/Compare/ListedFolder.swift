import BackupCore

/// Paths of a list in memory, as a tree: for sides that are lists of files.
///
/// Takes the length of the paths and 24 bytes for each.
final class ListedPaths: Sendable {
    private static let slash = UInt8(ascii: "/")

    fileprivate struct Record {
        let start: Int
        let length: Int32
        /// In the list.
        let number: Int32
    }

    /// Collects the paths.
    struct Builder {
        fileprivate var bytes: [UInt8] = []
        fileprivate var records: [Record] = []
        private let limitBytes: Int

        init(limitBytes: Int = 1 << 30) { self.limitBytes = limitBytes }

        var count: Int { records.count }

        /// - Parameter path: components joined by one slash, none of them `.` or `..`; that of a folder ends with a slash.
        /// - Throws: `tooLarge`.
        mutating func append(_ path: some Collection<UInt8>) throws(BackupError) {
            guard bytes.count + path.count <= limitBytes, records.count < Int(Int32.max) - 1 else {
                throw BackupError(.tooLarge, "the list has too many paths to be compared")
            }
            records.append(Record(start: bytes.count, length: Int32(path.count), number: Int32(records.count)))
            bytes += path
        }
    }

    private let bytes: [UInt8]
    private let records: [Record]

    /// - Parameter duplicate: called with the numbers of two entries that have one path; the first one stays.
    /// - Throws: what `duplicate` throws; `invalidContent` for a file that has files in it.
    init(
        _ builder: Builder, duplicate: (Int, Int) throws(BackupError) -> Void
    ) throws(BackupError) {
        bytes = builder.bytes
        let bytes = builder.bytes
        func path(_ record: Record) -> ArraySlice<UInt8> { bytes[record.start..<record.start + Int(record.length)] }
        let sorted = builder.records.sorted { left, right in
            let (one, other) = (path(left), path(right))
            return Self.precedes(one, other) || !Self.precedes(other, one) && left.number < right.number
        }
        var kept: [Record] = []
        kept.reserveCapacity(sorted.count)
        for record in sorted {
            if let last = kept.last {
                let (before, own) = (path(last), path(record))
                if before == own {
                    try duplicate(Int(last.number), Int(record.number))
                    continue
                }
                guard !own.starts(with: before) || own[own.startIndex + before.count] != Self.slash else {
                    throw BackupError(
                        .invalidContent,
                        "“\(MessageText.name(before))” is a file in the list, and “\(MessageText.name(own))” would be in it")
                }
            }
            kept.append(record)
        }
        records = kept
    }

    /// With `/` before every other byte: what is in a folder stands together.
    private static func precedes(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        left.lexicographicallyPrecedes(right) { ($0 == slash ? 0 : $0) < ($1 == slash ? 0 : $1) }
    }

    private func path(_ position: Int) -> ArraySlice<UInt8> {
        let record = records[position]
        return bytes[record.start..<record.start + Int(record.length)]
    }

    var all: Range<Int> { 0..<records.count }

    func length(_ position: Int) -> Int { Int(records[position].length) }

    /// The number in the list of the entry at a position.
    func number(_ position: Int) -> Int { Int(records[position].number) }

    /// The names in a folder, sorted by their bytes.
    /// - Parameters:
    ///   - range: of what is in the folder.
    ///   - skipped: the length of the folder's path with its slash.
    func names(in range: Range<Int>, skipping skipped: Int) -> [FileName] {
        var names: [FileName] = []
        var position = range.lowerBound
        while position < range.upperBound {
            let rest = path(position).dropFirst(skipped)
            let name = FileName(bytes: Array(rest.prefix { $0 != Self.slash }))
            names.append(name)
            position = place(of: name, in: position..<range.upperBound, skipping: skipped).upperBound
        }
        return names
    }

    /// Where a name is, with all that is in it; empty when there is none.
    func place(of name: FileName, in range: Range<Int>, skipping skipped: Int) -> Range<Int> {
        func key(_ position: Int) -> ArraySlice<UInt8> { path(position).dropFirst(skipped).prefix { $0 != Self.slash } }
        let first = Self.partition(range) { key($0).lexicographicallyPrecedes(name.bytes) }
        let end = Self.partition(first..<range.upperBound) { key($0).elementsEqual(name.bytes) }
        return first..<end
    }

    /// Whether the entry at a position is in a folder at this depth, and not a file in it.
    func isFolder(_ position: Int, skipping skipped: Int) -> Bool { path(position).dropFirst(skipped).contains(Self.slash) }

    /// - Returns: the first position for which the condition no longer holds.
    private static func partition(_ range: Range<Int>, while holds: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if holds(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// What the entries of a list are.
protocol ListedEntries: Sendable {
    /// A folder only for an entry that is one.
    func item(_ number: Int) throws(BackupError) -> ComparedItem
    func linkTarget(_ number: Int) throws(BackupError) -> [UInt8]
    func checksum(_ number: Int, _ item: ComparedItem, _ algorithm: HashAlgorithm) throws(BackupError) -> [UInt8]
    func content(_ number: Int, _ item: ComparedItem) throws(BackupError) -> any ComparedContent
}

/// A folder of a list.
struct ListedFolder: ComparedFolder {
    let paths: ListedPaths
    let entries: any ListedEntries
    let range: Range<Int>
    let skipped: Int

    func names() -> [FileName] { paths.names(in: range, skipping: skipped) }

    func item(_ name: FileName) throws(BackupError) -> ComparedItem? {
        let place = paths.place(of: name, in: range, skipping: skipped)
        guard !place.isEmpty else { return nil }
        if paths.isFolder(place.lowerBound, skipping: skipped) { return ComparedItem(.folder) }
        return try entries.item(paths.number(place.lowerBound))
    }

    func folder(_ name: FileName) throws(BackupError) -> any ComparedFolder {
        let place = paths.place(of: name, in: range, skipping: skipped)
        let depth = skipped + name.bytes.count + 1
        // A folder may have an entry of its own.
        let inner = place.drop { paths.length($0) <= depth }
        return ListedFolder(paths: paths, entries: entries, range: inner.startIndex..<place.upperBound, skipped: depth)
    }

    private func number(_ name: FileName) throws(BackupError) -> Int {
        let place = paths.place(of: name, in: range, skipping: skipped)
        guard !place.isEmpty else {
            throw BackupError(.notFound, "there is no such file in the list", path: name.description)
        }
        return paths.number(place.lowerBound)
    }

    func linkTarget(_ name: FileName) throws(BackupError) -> [UInt8] { try entries.linkTarget(number(name)) }

    func checksum(
        _ name: FileName, _ item: ComparedItem, _ algorithm: HashAlgorithm
    ) throws(BackupError) -> [UInt8] { try entries.checksum(number(name), item, algorithm) }

    func content(_ name: FileName, _ item: ComparedItem) throws(BackupError) -> any ComparedContent {
        try entries.content(number(name), item)
    }
}
