import BackupCore
import SystemIO

/// The generations of an ASC MHL history: the folder `ascmhl`.
enum MHLHistory {
    /// Reads the generations, after their C4 IDs were compared with the chain.
    /// - Parameters:
    ///   - prefix: of the folder that has the history, below the source.
    ///   - body: called for each file, first generation first.
    /// - Returns: the patterns of the last generation.
    @discardableResult
    static func read(
        _ folder: DirectoryHandle, _ chain: MHLChain, prefix: [UInt8] = [],
        _ body: @escaping (ManifestIndex.Line) throws(BackupError) -> Void
    ) throws(BackupError) -> [String] {
        try chain.verify(folder)
        var patterns: [String] = []
        let place = MessageText.name(BytePath.join(prefix, MHLFormat.folder.bytes))
        for generation in chain.generations {
            patterns = try read(
                "\(folder.path)/\(generation.name)", list: "\(place)/\(generation.name)", isHistory: true, prefix: prefix, body)
        }
        return patterns
    }

    /// Reads one list.
    /// - Parameter prefix: of the folder that the list is about, below the source.
    /// - Returns: its patterns.
    @discardableResult
    static func read(
        _ path: String, list: String, isHistory: Bool, prefix: [UInt8],
        _ body: @escaping (ManifestIndex.Line) throws(BackupError) -> Void
    ) throws(BackupError) -> [String] {
        try MHLReader.read(path) { (hash) throws(BackupError) in
            if let previous = hash.previousPath {
                let entry = ManifestEntry(path: BytePath.join(prefix, previous), size: nil, digests: FileDigests())
                try body(ManifestIndex.Line(entry: entry, list: list, isHistory: isHistory, isGone: true))
            }
            guard !hash.isFolder else { return }
            let entry = ManifestEntry(path: BytePath.join(prefix, hash.path), size: hash.size, digests: hash.digests)
            try body(ManifestIndex.Line(entry: entry, list: list, isHistory: isHistory, isGone: false))
        }
    }

    /// The algorithms that the history of a folder has; none without a history.
    static func algorithms(in root: DirectoryHandle) throws(BackupError) -> Set<HashAlgorithm> {
        guard let folder = try root.openFolder(MHLFormat.folder) else { return [] }
        let found = Found()
        try read(folder, .read(folder)) { (line) throws(BackupError) in
            found.algorithms.formUnion(line.entry.digests.algorithms)
        }
        return found.algorithms
    }

    private final class Found {
        var algorithms: Set<HashAlgorithm> = []
    }
}
