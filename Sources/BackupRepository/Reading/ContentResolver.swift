import BackupCore

/// Resolves the lists of a file's content down to its chunks.
struct ContentResolver {
    /// Reads a chunk's plain bytes; used for lists, which are small.
    private let readChunk: (ChunkID) throws(BackupError) -> [UInt8]

    private let pieceCountLimit: Int

    init(
        pieceCountLimit: Int = ContentList.pieceCountLimit, readChunk: @escaping (ChunkID) throws(BackupError) -> [UInt8]
    ) {
        self.pieceCountLimit = pieceCountLimit
        self.readChunk = readChunk
    }

    /// A content without lists.
    /// - Throws: `repositoryDamaged` when a list has a wrong length.
    func flatten(_ content: FileContent) throws(BackupError) -> [FileContent.Element] {
        var elements: [FileContent.Element] = []
        elements.reserveCapacity(content.elements.count)
        try append(content, to: &elements, depth: 0)
        return elements
    }

    private func append(
        _ content: FileContent, to elements: inout [FileContent.Element], depth: Int
    ) throws(BackupError) {
        for element in content.elements {
            guard case .list(let id, _) = element else {
                guard elements.count < pieceCountLimit else {
                    throw BackupError(.tooLarge, "a file has more than \(pieceCountLimit) pieces")
                }
                elements.append(element)
                continue
            }
            guard depth < ContentList.depthLimit else {
                throw BackupError(.repositoryDamaged, "content lists are nested too deep: \(id)")
            }
            try append(open(element), to: &elements, depth: depth + 1)
        }
    }

    /// The contents of a list; any other element unchanged.
    /// - Throws: `repositoryDamaged` when a list has a wrong length.
    func open(_ element: FileContent.Element) throws(BackupError) -> FileContent {
        guard case .list(let id, let plainLength) = element else { return FileContent(elements: [element]) }
        let list = try ContentList.decode(try readChunk(id))
        guard list.size == plainLength else {
            throw BackupError(.repositoryDamaged, "content list \(id) does not have the length it should")
        }
        return list
    }
}

extension Repository {
    /// Resolves lists that are stored in the repository.
    var resolver: ContentResolver {
        ContentResolver { (id) throws(BackupError) in try self.plainBytes(of: id) }
    }
}
