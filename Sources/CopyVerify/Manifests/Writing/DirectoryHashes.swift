import BackupCore

/// The content and structure hashes of ASC MHL for the folder that is walked through, and for those above it.
///
/// The content hash of a folder is the hash of its entries' content hashes, sorted and one after the other. The structure hash is
/// made in the same way of the hashes of each name with the content hash of a file or the structure hash of a folder.
struct DirectoryHashes {
    /// Of one folder, for each algorithm.
    struct Pair {
        var content: [HashAlgorithm: FileDigests] = [:]
        var structure: [HashAlgorithm: FileDigests] = [:]
    }

    private struct Level {
        var contents: [HashAlgorithm: [[UInt8]]] = [:]
        var structures: [HashAlgorithm: [[UInt8]]] = [:]
        /// Whether something is in it whose digests are not known.
        var isIncomplete = false
    }

    private final class Hasher {
        private let algorithm: HashAlgorithm
        private var digester: FileDigester

        init(_ algorithm: HashAlgorithm) {
            self.algorithm = algorithm
            digester = FileDigester([algorithm])
        }

        func hash(_ parts: [[UInt8]]) -> FileDigests {
            for part in parts { part.withUnsafeBytes { digester.update($0) } }
            return digester.finish()
        }

        func bytes(_ parts: [[UInt8]]) -> [UInt8] { hash(parts).bytes(algorithm) ?? [] }
    }

    private let hashers: [HashAlgorithm: Hasher]
    private var levels: [Level] = []

    init(_ algorithms: Set<HashAlgorithm>) {
        hashers = Dictionary(uniqueKeysWithValues: algorithms.map { ($0, Hasher($0)) })
    }

    mutating func enter() { levels.append(Level()) }

    /// Adds a file to the present folder.
    mutating func add(_ name: FileName, _ digests: FileDigests) {
        guard !levels.isEmpty else { return }
        for (algorithm, hasher) in hashers {
            guard let digest = digests.bytes(algorithm) else {
                levels[levels.count - 1].isIncomplete = true
                continue
            }
            add(algorithm, content: digest, structure: hasher.bytes([name.bytes, digest]))
        }
    }

    private mutating func add(_ algorithm: HashAlgorithm, content: [UInt8], structure: [UInt8]) {
        levels[levels.count - 1].contents[algorithm, default: []].append(content)
        levels[levels.count - 1].structures[algorithm, default: []].append(structure)
    }

    /// The present folder has something whose digests are not known.
    mutating func addUnknown() { if !levels.isEmpty { levels[levels.count - 1].isIncomplete = true } }

    /// Ends the present folder, and adds it to the one above it.
    /// - Returns: `nil` when something in it is not known.
    mutating func leave(_ name: FileName?) -> Pair? {
        guard let level = levels.popLast() else { return nil }
        if level.isIncomplete {
            addUnknown()
            return nil
        }
        var pair = Pair()
        for (algorithm, hasher) in hashers {
            // The order of the texts, which is that of the bytes: hexadecimal digits and those of C4 IDs ascend as ASCII does.
            let content = hasher.hash(Self.sorted(level.contents[algorithm]))
            let structure = hasher.hash(Self.sorted(level.structures[algorithm]))
            pair.content[algorithm] = content
            pair.structure[algorithm] = structure
            if let name, !levels.isEmpty {
                add(
                    algorithm, content: content.bytes(algorithm) ?? [],
                    structure: hasher.bytes([name.bytes, structure.bytes(algorithm) ?? []]))
            }
        }
        return pair
    }

    private static func sorted(_ digests: [[UInt8]]?) -> [[UInt8]] {
        (digests ?? []).sorted { $0.lexicographicallyPrecedes($1) }
    }
}
