import BackupCore
import SystemIO

/// A manifest: a list of files with their checksums, and perhaps their sizes, without their bytes.
///
/// It is kept in memory: the length of the paths, and 24 bytes and the checksums for each.
public struct ManifestSide: ComparedSide {
    public let title: String
    public let knowsSizes: Bool
    public var knowsFolders: Bool { false }
    public let onlyAlgorithms: [HashAlgorithm]?

    private let paths: ListedPaths
    private let entries: Entries

    /// What was read.
    private final class Collector {
        var builder = ListedPaths.Builder()
        var entries = Entries()

        func add(_ entry: ManifestEntry) throws(BackupError) {
            try Cancellation.check()
            try builder.append(entry.path)
            entries.append(entry)
        }
    }

    /// - Parameter file: read to its end.
    /// - Throws: `invalidContent` for a manifest that contradicts itself; the errors of reading it.
    public init(_ file: ManifestFile, title: String) throws(BackupError) {
        self.title = title
        let collector = Collector()
        do throws(BackupError) {
            try file.read(collector.add)
            let all = collector.entries
            paths = try ListedPaths(collector.builder) { (first, second) throws(BackupError) in
                guard all.isSame(first, second) else {
                    throw BackupError(
                        .invalidContent, "the manifest has a file twice, with two checksums",
                        remedy: "Make the manifest again.")
                }
            }
        } catch {
            throw error.at(file.path)
        }
        let entries = collector.entries
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
        private var digests: [HashAlgorithm: [UInt8]] = [:]
        private var isKnown: [HashAlgorithm: [Bool]] = [:]

        mutating func append(_ entry: ManifestEntry) {
            sizes.append(entry.size ?? Self.unknown)
            for algorithm in entry.digests.algorithms {
                guard let digest = entry.digests.bytes(algorithm) else { continue }
                let missing = sizes.count - 1 - isKnown[algorithm, default: []].count
                digests[algorithm, default: []] += [UInt8](repeating: 0, count: missing * algorithm.byteCount) + digest
                isKnown[algorithm, default: []] += [Bool](repeating: false, count: missing) + [true]
            }
        }

        var hasAllSizes: Bool { !sizes.contains(Self.unknown) }

        /// Those that every entry has.
        var commonAlgorithms: [HashAlgorithm] {
            HashAlgorithm.allCases.filter { algorithm in
                let known = isKnown[algorithm, default: []]
                return known.count == sizes.count && known.allSatisfy(\.self)
            }
        }

        func known(_ number: Int) -> [HashAlgorithm: [UInt8]] {
            var known: [HashAlgorithm: [UInt8]] = [:]
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
            _ number: Int, _ item: ComparedItem, _ algorithm: HashAlgorithm
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
