import BackupCore
import SystemIO

/// A manifest: a list of files with their checksums, and perhaps their sizes, without their bytes.
///
/// It is kept in memory: the length of the paths, and 24 bytes and the checksums for each.
public struct ManifestSide: ComparedSide {
    public let title: String
    public let knowsSizes: Bool
    public var knowsFolders: Bool { false }
    public let onlyAlgorithms: [ChecksumAlgorithm]?

    private let paths: ListedPaths
    private let entries: Entries

    /// - Parameters:
    ///   - path: of the manifest, for errors.
    ///   - reader: read to its end.
    /// - Throws: `invalidContent` for a manifest that contradicts itself; the errors of reading it.
    public init(path: String, title: String, reading reader: some ManifestReader) throws(BackupError) {
        self.title = title
        var reader = reader
        var builder = ListedPaths.Builder()
        var entries = Entries()
        do throws(BackupError) {
            while let entry = try reader.next() {
                try Cancellation.check()
                try builder.append(entry.path)
                entries.append(entry)
            }
            let all = entries
            paths = try ListedPaths(builder) { (first, second) throws(BackupError) in
                guard all.isSame(first, second) else {
                    throw BackupError(
                        .invalidContent, "the manifest has a file twice, with two checksums",
                        remedy: "Make the manifest again.")
                }
            }
        } catch {
            throw error.at(path)
        }
        knowsSizes = entries.hasAllSizes
        onlyAlgorithms = entries.commonAlgorithms
        self.entries = entries
    }

    public func root() -> any ComparedFolder {
        ListedFolder(paths: paths, entries: entries, range: paths.all, skipped: 0)
    }

    private struct Entries: ListedEntries {
        private static let unknown = UInt64.max

        private var sizes: [UInt64] = []
        private var digests: [ChecksumAlgorithm: [UInt8]] = [:]
        private var isKnown: [ChecksumAlgorithm: [Bool]] = [:]

        mutating func append(_ entry: ManifestEntry) {
            sizes.append(entry.sizeBytes ?? Self.unknown)
            for (algorithm, digest) in entry.digests where digest.count == algorithm.byteCount {
                let missing = sizes.count - 1 - isKnown[algorithm, default: []].count
                digests[algorithm, default: []] += [UInt8](repeating: 0, count: missing * algorithm.byteCount) + digest
                isKnown[algorithm, default: []] += [Bool](repeating: false, count: missing) + [true]
            }
        }

        var hasAllSizes: Bool { !sizes.contains(Self.unknown) }

        /// Those that every entry has.
        var commonAlgorithms: [ChecksumAlgorithm] {
            ChecksumAlgorithm.allCases.filter { algorithm in
                let known = isKnown[algorithm, default: []]
                return known.count == sizes.count && known.allSatisfy(\.self)
            }
        }

        func known(_ number: Int) -> [ChecksumAlgorithm: [UInt8]] {
            var known: [ChecksumAlgorithm: [UInt8]] = [:]
            for (algorithm, flags) in isKnown where number < flags.count && flags[number] {
                let start = number * algorithm.byteCount
                known[algorithm] = digests[algorithm].map { Array($0[start..<start + algorithm.byteCount]) }
            }
            return known
        }

        /// Whether two entries do not contradict each other, and say the same.
        func isSame(_ first: Int, _ second: Int) -> Bool { known(first) == known(second) && sizes[first] == sizes[second] }

        func item(_ number: Int) -> ComparedItem {
            ComparedItem(
                .file, sizeBytes: sizes[number] == Self.unknown ? nil : sizes[number], known: known(number))
        }

        func linkTarget(_ number: Int) throws(BackupError) -> [UInt8] { throw Self.hasNoBytes }

        func checksum(
            _ number: Int, _ item: ComparedItem, _ algorithm: ChecksumAlgorithm
        ) throws(BackupError) -> [UInt8] {
            guard let known = item.known[algorithm] else { throw Self.hasNoBytes }
            return known
        }

        func content(_ number: Int, _ item: ComparedItem) throws(BackupError) -> any ComparedContent { throw Self.hasNoBytes }

        private static var hasNoBytes: BackupError {
            BackupError(.notSupported, "the manifest has no checksum of this file that can be compared")
        }
    }
}
