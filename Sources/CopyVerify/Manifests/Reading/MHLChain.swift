import BackupCore
import SystemIO

/// The list of an ASC MHL history's generations, with the C4 ID of each: `ascmhl_chain.xml`.
struct MHLChain: Sendable {
    struct Generation: Sendable, Equatable {
        let number: Int
        let name: FileName
        let c4: SHA512Digest
    }

    private static let limits = XMLElement.Limits(
        sizeBytes: 8 << 20, depth: 8, elementCount: 40_000, textSizeBytes: 16 << 10)

    /// In their order.
    var generations: [Generation] = []

    /// The chain of a history's folder; without generations when there is none.
    /// - Throws: when it is damaged, or when there are generations without it.
    static func read(_ folder: DirectoryHandle) throws(BackupError) -> MHLChain {
        let path = "\(folder.path)/\(MHLFormat.chain)"
        let files = try folder.names().filter { MHLFormat.generation(of: $0) != nil }
        guard let file = try folder.openFileIfPresent(MHLFormat.chain) else {
            guard files.isEmpty else { throw ManifestEntry.invalid("the history has generations, and no chain", path) }
            return MHLChain()
        }
        guard let root = XMLElement.parse(try SharedFile(file).bytes(at: 0, upTo: limits.sizeBytes + 1), limits: limits),
            root.name.hasSuffix("ascmhldirectory")
        else { throw ManifestEntry.invalid("it is no chain of an ASC MHL history", path) }
        var chain = MHLChain()
        var known: Set<FileName> = []
        for (index, element) in root.children.enumerated() where element.name.hasSuffix("hashlist") {
            guard let name = element["path"]?.text, let c4 = element["c4"].flatMap({ C4ID.decode($0.text) }),
                let number = MHLFormat.generation(of: FileName(name)), FileName(name).isSafeComponent
            else { throw ManifestEntry.invalid("generation \(index + 1) has no name and C4 ID", path) }
            guard known.insert(FileName(name)).inserted else {
                throw ManifestEntry.invalid("generation \(index + 1) is listed twice", path)
            }
            chain.generations.append(Generation(number: number, name: FileName(name), c4: c4))
        }
        return chain
    }

    /// - Throws: when a generation is missing or was changed: then the history proves nothing.
    func verify(_ folder: DirectoryHandle) throws(BackupError) {
        for generation in generations {
            let path = "\(folder.path)/\(generation.name)"
            guard let file = try folder.openFileIfPresent(generation.name) else {
                throw ManifestEntry.invalid("a generation of the history is missing", path)
            }
            guard try Self.c4(of: SharedFile(file)) == generation.c4 else {
                throw ManifestEntry.invalid("it has changed since it was written: its C4 ID is not that of the chain", path)
            }
        }
    }

    /// Generations that the chain does not have: their writer was stopped, or another program has added them.
    func strangers(_ folder: DirectoryHandle) throws(BackupError) -> [FileName] {
        let known = Set(generations.map(\.name))
        return try folder.names().filter { MHLFormat.generation(of: $0) != nil && !known.contains($0) }
    }

    /// The text of the file.
    var text: String {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ascmhldirectory xmlns=\"urn:ASC:MHL:DIRECTORY:v2.0\">\n"
        for generation in generations {
            text += "  <hashlist sequencenr=\"\(generation.number)\">\n"
            text += "    <path>\(XMLText.escaped(generation.name.description))</path>\n"
            text += "    <c4>\(C4ID.encode(generation.c4))</c4>\n  </hashlist>\n"
        }
        return text + "</ascmhldirectory>\n"
    }

    static func c4(of file: SharedFile) throws(BackupError) -> SHA512Digest {
        var hasher = SHA512Hasher()
        var offset: UInt64 = 0
        while true {
            let part = try file.bytes(at: offset, upTo: 1 << 20)
            if part.isEmpty { return hasher.finish() }
            part.withUnsafeBytes { hasher.update($0) }
            offset += UInt64(part.count)
        }
    }
}
