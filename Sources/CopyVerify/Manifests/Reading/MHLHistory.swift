import BackupCore
import SystemIO

/// The generations of an ASC MHL history: the folder `ascmhl`.
enum MHLHistory {
    /// A generation of a history below, as one above it knows it.
    struct Reference {
        /// Below the source.
        let path: [UInt8]
        let c4: SHA512Digest
        /// The list that refers to it, below the source, for people.
        let list: String
        /// Whether it is the history's last generation. The folder of one that only earlier ones know may have another name now.
        let isOfLast: Bool
    }

    /// What a history says besides its files.
    struct Remainder {
        /// Those of the last generation.
        var ignoredPatterns: [String] = []
        var references: [Reference] = []
    }

    /// Reads the generations, after their C4 IDs were compared with the chain.
    /// - Parameters:
    ///   - prefix: of the folder that has the history, below the source.
    ///   - body: called for each file, first generation first.
    @discardableResult
    static func read(
        _ folder: DirectoryHandle, _ chain: MHLChain, prefix: [UInt8] = [],
        _ body: @escaping (ManifestIndex.Line) throws(BackupError) -> Void
    ) throws(BackupError) -> Remainder {
        try chain.verify(folder)
        var remainder = Remainder()
        let place = MessageText.name(BytePath.join(prefix, MHLFormat.folder.bytes))
        for (index, generation) in chain.generations.enumerated() {
            let list = "\(place)/\(generation.name)"
            let found = try read("\(folder.path)/\(generation.name)", list: list, history: place, prefix: prefix, body)
            remainder.ignoredPatterns = found.ignoredPatterns
            remainder.references += found.references.map {
                Reference(
                    path: BytePath.join(prefix, $0.path), c4: $0.c4, list: list,
                    isOfLast: index == chain.generations.count - 1)
            }
        }
        return remainder
    }

    /// Reads one list.
    /// - Parameters:
    ///   - history: the folder of the history, when all of it is read.
    ///   - prefix: of the folder that the list is about, below the source.
    @discardableResult
    static func read(
        _ path: String, list: String, history: String?, prefix: [UInt8],
        _ body: @escaping (ManifestIndex.Line) throws(BackupError) -> Void
    ) throws(BackupError) -> MHLReader.Remainder {
        try MHLReader.read(path) { (hash) throws(BackupError) in
            if let previous = hash.previousPath {
                let entry = ManifestEntry(path: BytePath.join(prefix, previous), size: nil, digests: hash.digests)
                try body(ManifestIndex.Line(entry: entry, list: list, history: history, isGone: true))
            }
            guard !hash.isFolder else { return }
            let entry = ManifestEntry(path: BytePath.join(prefix, hash.path), size: hash.size, digests: hash.digests)
            try body(ManifestIndex.Line(entry: entry, list: list, history: history, isGone: false))
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
