import BackupCore
import SystemIO

/// Finds files that are on both sides under different paths: those with one size, and then with one checksum.
///
/// Keeps 16 bytes for each file that is on one side only, and the checksums of those of one size at a time.
struct MoveFinder {
    private struct Candidate {
        let sizeBytes: UInt64
        /// In the spool.
        let place: UInt64
    }

    private struct List {
        var candidates: [Candidate] = []
        let spool = PathSpool()
    }

    private static let unknownSize = UInt64.max

    private var sources = List()
    private var destinations = List()
    private let algorithm: HashAlgorithm
    /// Whether both sides say the size of each file. Otherwise each file may be any other one.
    private let knowsSizes: Bool

    init(_ algorithm: HashAlgorithm, knowsSizes: Bool) {
        self.algorithm = algorithm
        self.knowsSizes = knowsSizes
    }

    /// A file that one side has.
    mutating func add(_ side: ComparisonSide, _ path: [UInt8], _ item: ComparedItem) throws(BackupError) {
        // Empty files are all the same, and none of them has moved.
        guard item.kind == .file, item.sizeBytes != 0 else { return }
        let size = knowsSizes ? item.sizeBytes ?? Self.unknownSize : Self.unknownSize
        switch side {
        case .source: sources.candidates.append(Candidate(sizeBytes: size, place: try sources.spool.append(path)))
        case .destination:
            destinations.candidates.append(Candidate(sizeBytes: size, place: try destinations.spool.append(path)))
        }
    }

    /// Files of one size, by their checksums, in the order in which they were found.
    private typealias Known = [[UInt8]: [[UInt8]]]

    /// Reads the files that have the size of one on the other side.
    /// - Parameters:
    ///   - unreadable: called for a file that cannot be read.
    ///   - found: called for each pair.
    mutating func run(
        source: any ComparedFolder, destination: any ComparedFolder,
        unreadable: (ComparisonSide, [UInt8], BackupError) throws(BackupError) -> Void,
        found: ([UInt8], [UInt8], UInt64?) throws(BackupError) -> Void
    ) throws(BackupError) {
        // A stable order: the files of one size stay in the order of their paths.
        sources.candidates.sort { ($0.sizeBytes, $0.place) < ($1.sizeBytes, $1.place) }
        destinations.candidates.sort { ($0.sizeBytes, $0.place) < ($1.sizeBytes, $1.place) }
        var left = PlaceFinder(source)
        var right = PlaceFinder(destination)
        var (own, other) = (sources.candidates[...], destinations.candidates[...])
        while let one = own.first, let two = other.first {
            let size = max(one.sizeBytes, two.sizeBytes)
            guard one.sizeBytes == two.sizeBytes else {
                own = own.drop { $0.sizeBytes < size }
                other = other.drop { $0.sizeBytes < size }
                continue
            }
            let (first, second) = (own.prefix { $0.sizeBytes == size }, other.prefix { $0.sizeBytes == size })
            own = own.dropFirst(first.count)
            other = other.dropFirst(second.count)
            let known = try checksums(.source, first, sources.spool, &left, unreadable)
            let others = try checksums(.destination, second, destinations.spool, &right, unreadable)
            var pairs: [(source: [UInt8], destination: [UInt8])] = []
            for (checksum, paths) in known {
                for (path, place) in zip(paths, others[checksum] ?? []) { pairs.append((path, place)) }
            }
            pairs.sort { $0.source.lexicographicallyPrecedes($1.source) }
            for pair in pairs { try found(pair.source, pair.destination, size == Self.unknownSize ? nil : size) }
        }
    }

    private func checksums(
        _ side: ComparisonSide, _ candidates: ArraySlice<Candidate>, _ spool: PathSpool, _ finder: inout PlaceFinder,
        _ unreadable: (ComparisonSide, [UInt8], BackupError) throws(BackupError) -> Void
    ) throws(BackupError) -> Known {
        var known: Known = [:]
        for candidate in candidates {
            try Cancellation.check()
            let path = try spool.path(at: candidate.place)
            do throws(BackupError) {
                guard let place = try finder.place(path) else { continue }
                known[try place.checksum(algorithm), default: []].append(path)
            } catch {
                if error.code == .interrupted { throw error }
                try unreadable(side, path, error)
            }
        }
        return known
    }
}

/// Finds files of a side by their paths; the folder of the last one stays open.
private struct PlaceFinder {
    private let root: any ComparedFolder
    private var last: (path: ArraySlice<FileName>, folder: any ComparedFolder)?

    init(_ root: any ComparedFolder) { self.root = root }

    /// - Returns: `nil` for what has gone, or is no file any more.
    mutating func place(_ path: [UInt8]) throws(BackupError) -> ComparedPlace? {
        let names = BytePath.components(of: path)
        guard let name = names.last else { return nil }
        if last?.path != names.dropLast() {
            var folder = root
            for name in names.dropLast() { folder = try folder.folder(name) }
            last = (names.dropLast(), folder)
        }
        let folder = last?.folder ?? root
        guard let item = try folder.item(name), item.kind == .file else { return nil }
        return ComparedPlace(folder: folder, name: name, item: item)
    }
}
