import BackupCore
import Synchronization
import SystemIO

// MARK: - Contents of files

extension Repository {
    /// The places of a content's bytes, from which `ExtentTable` and the archive layouts are built.
    /// - Throws: `repositoryDamaged` when a list is damaged or a chunk is missing.
    public func pieces(of content: FileContent) throws(BackupError) -> [ContentPiece] {
        try pieces(of: try resolver.flatten(content))
    }

    /// The same piece by piece, in constant memory.
    /// - Throws: as `pieces`.
    public func visitPieces(
        of content: FileContent, known: KnownPlaces? = nil, _ body: (ContentPiece) -> Void
    ) throws(BackupError) {
        try visitPieces(of: content, known, opened: { _ in }, body)
    }

    private func visitPieces(
        of content: FileContent, _ known: KnownPlaces?, opened: (ChunkID) -> Void, _ body: (ContentPiece) -> Void
    ) throws(BackupError) {
        var walk = ContentWalk(content, resolver)
        var elements: [FileContent.Element] = []
        var isAtEnd = false
        while !isAtEnd {
            if let element = try walk.next(opened) { elements.append(element) } else { isAtEnd = true }
            if isAtEnd || elements.count == 4_096 {
                for piece in try pieces(of: elements, known: known) { body(piece) }
                elements.removeAll(keepingCapacity: true)
            }
        }
    }

    /// The same for many contents, at a fraction of the cost.
    /// - Parameter known: places that need not be looked up.
    public func pieces(of contents: [FileContent], known: KnownPlaces? = nil) throws(BackupError) -> [[ContentPiece]] {
        let resolver = resolver
        var elements: [FileContent.Element] = []
        var counts: [Int] = []
        for content in contents {
            let own = try resolver.flatten(content)
            elements += own
            counts.append(own.count)
        }
        var all = try pieces(of: elements, known: known)[...]
        return counts.map { count in
            defer { all.removeFirst(count) }
            return Array(all.prefix(count))
        }
    }

    func pieces(of elements: [FileContent.Element], known: KnownPlaces? = nil) throws(BackupError) -> [ContentPiece] {
        var ids: [ChunkID] = []
        var lengths: [UInt32] = []
        for case .chunk(let id, let plainLength) in elements {
            ids.append(id)
            lengths.append(plainLength)
        }
        var chunks = try locate(ids, known)[...]
        // In that case the catalog may be wrong.
        if zip(chunks, lengths).contains(where: { $0.plainLength != $1 }), catalog.mayInquire(), try mendCatalog() {
            chunks = try catalog.locate(ids)[...]
        }
        var pieces: [ContentPiece] = []
        pieces.reserveCapacity(elements.count)
        for element in elements {
            switch element {
            case .literal(let bytes):
                pieces.append(.literal(bytes))
            case .chunk(let id, let plainLength):
                guard let chunk = chunks.popFirst(), chunk.plainLength == plainLength else {
                    throw BackupError(.repositoryDamaged, "chunk \(id) does not have the length it should")
                }
                pieces.append(.chunk(chunk))
            case .list(let id, _):
                throw BackupError(.repositoryDamaged, "content list \(id) was not followed")
            }
        }
        return pieces
    }

    private func locate(_ ids: [ChunkID], _ known: KnownPlaces?) throws(BackupError) -> [StoredChunk] {
        guard !ids.isEmpty else { return [] }
        guard let places = known?.find(ids) else { return try catalog.locate(ids) }
        let others = zip(ids, places).filter { $0.1 == nil }.map(\.0)
        var located = others.isEmpty ? [][...] : try catalog.locate(others)[...]
        return places.compactMap { $0 ?? located.popFirst() }
    }

    /// A file's extents, for `read(_:at:into:)`.
    public func extents(of content: FileContent) throws(BackupError) -> ExtentTable {
        ExtentTable(plainContent: try pieces(of: content))
    }

    /// A small file or structure as a whole.
    /// - Throws: `tooLarge` before anything is read.
    public func bytes(of content: FileContent, limitBytes: Int) throws(BackupError) -> [UInt8] {
        guard content.size <= UInt64(limitBytes) else {
            throw BackupError(.tooLarge, "a content has \(content.size) bytes, more than \(limitBytes)")
        }
        let table = try extents(of: content)
        guard table.size == content.size else {
            throw BackupError(.repositoryDamaged, "a content does not have the length it should")
        }
        var bytes = [UInt8](repeating: 0, count: Int(content.size))
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try read(table, at: 0, into: buffer)
        }
        guard count == bytes.count else { throw BackupError(.repositoryDamaged, "a content ends too early") }
        return bytes
    }

    /// All plain bytes of one chunk.
    func plainBytes(of id: ChunkID) throws(BackupError) -> [UInt8] {
        guard let chunk = try catalog.locate([id]).first else {
            throw BackupError(.repositoryDamaged, "chunk \(id) is in no pack of the repository")
        }
        return try chunkReader.plainBytes(chunk)
    }

    /// The common ranges of two versions of a file, as far as whole chunks show them. Only content lists are read.
    /// - Returns: ranges in ascending order in both versions.
    /// - Throws: `repositoryDamaged` when a content list cannot be read.
    public func commonRanges(old: FileContent, new: FileContent) throws(BackupError) -> [CommonRange] {
        try ContentAlignment.commonRanges(old: old, new: new, resolver: resolver)
    }

    /// Resolves lists that are stored in the repository.
    var resolver: ContentResolver {
        ContentResolver { (id) throws(BackupError) in try self.plainBytes(of: id) }
    }
}

// MARK: - What is kept of large contents

extension Repository {
    /// The elements of a content, or of one of its lists.
    public func elements(of part: FileContent) throws(BackupError) -> [FileContent.Element] {
        guard let list = part.elements.first, part.elements.count == 1 else { return part.elements }
        return try resolver.open(list).elements
    }

    /// Visits the pieces of a part of a large content, and keeps its packs in the catalog.
    /// - Throws: as `pieces`.
    public func visitPieces(
        ofPart part: FileContent, known: KnownPlaces?, _ body: (ContentPiece) -> Void
    ) throws(BackupError) {
        var lists: [ChunkID] = []
        var places = ContentPlaces(catalog)
        try visitPieces(of: part, known, opened: { lists.append($0) }) { piece in
            if case .chunk(let chunk) = piece { places.insert(chunk) }
            body(piece)
        }
        for list in lists { places.insert(list: list) }
        catalog.keepPacks(of: part, places)
    }

    /// How long a part of a large content is in a ZIP archive, if that was kept (`keep(archivedBytes:of:)`).
    public func archivedBytes(of part: FileContent) -> [UInt8]? {
        archivedKey(of: part).flatMap { catalog.value(.archived, of: $0) }
    }

    /// Keeps it for backups that have the same part in the same packs: in others, its chunks may have another form.
    /// - Parameter value: in a form of the caller's.
    public func keep(archivedBytes value: [UInt8], of part: FileContent) {
        guard let key = archivedKey(of: part) else { return }
        catalog.keep(.archived, [(key, value)])
    }

    /// - Returns: `nil` if the packs of the part are not known, or not all intact.
    private func archivedKey(of part: FileContent) -> SHA256Digest? {
        guard let packs = catalog.packs(of: part), (try? catalog.areIntact(packs)) == true else { return nil }
        return SHA256Hasher.hash(packs.sorted().reduce(into: part.fingerprint.bytes) { $0 += $1.digest.bytes })
    }
}

// MARK: - Reading

/// Reading served files: from extents down to chunks.
extension Repository {
    /// Reads a served file. Safe from any number of threads.
    /// - Returns: the number of bytes read; less than `buffer.count` only at the end of the file.
    /// - Throws: `repositoryDamaged` naming chunk and pack; errors of a source. The contents of `buffer` are undefined then.
    public func read(
        _ table: ExtentTable, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int {
        guard offset < table.size else { return 0 }
        let end = offset + min(UInt64(buffer.count), table.size - offset)
        var position = 0
        for slice in table.slices(in: offset..<end) {
            let count = Int(slice.range.upperBound - slice.range.lowerBound)
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[position..<position + count])
            try read(slice, into: target)
            position += count
        }
        return position
    }

    private func read(
        _ slice: ExtentTable.Slice, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        let start = Int(slice.range.lowerBound)
        switch slice.extent {
        case .literal(let bytes):
            bytes.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + buffer.count]))
            }
        case .plain(let chunk, let offset, _):
            try chunkReader.readPlain(chunk, at: Int(offset) + start, into: buffer)
        case .stored(let chunk):
            try chunkReader.readStored(chunk, at: start, into: buffer)
        case .source(let source, let offset, _):
            guard try source.readFully(at: offset + UInt64(start), into: buffer) == buffer.count else {
                throw BackupError(.inputOutput, "a file became shorter while it was read")
            }
        }
    }

    /// Announces to the kernel that these bytes of a served file will be read soon.
    public func expectReading(_ table: ExtentTable, _ range: Range<UInt64>) {
        for slice in table.slices(in: range) {
            switch slice.extent {
            case .plain(let chunk, _, _), .stored(let chunk): chunkReader.expectReading(chunk)
            case .literal, .source: break
            }
        }
    }
}

extension Repository {
    /// All checksums of a served file, computed by reading it in bounded memory.
    public func checksums(of table: ExtentTable) throws(BackupError) -> Checksums {
        var hasher = ContentHasher()
        try copy(table) { (bytes) throws(BackupError) in
            try Cancellation.check()
            hasher.update(bytes)
        }
        return hasher.finish()
    }

    /// Passes all bytes of a served file, or the first `limit`, to `sink`, in order and in bounded memory.
    public func copy(
        _ table: ExtentTable, upTo limit: UInt64 = .max, to sink: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: UInt64 = 0
        let end = min(table.size, limit)
        while offset < end {
            let size = Int(min(UInt64(buffer.count), end - offset))
            let count = try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                try read(table, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<size]))
            }
            guard count > 0 else { throw BackupError(.repositoryDamaged, "a file ends too early") }
            try buffer.withUnsafeBytesThrowing(count: count) { (bytes) throws(BackupError) in try sink(bytes) }
            offset += UInt64(count)
        }
    }

    /// A small served file as a whole.
    public func readAll(_ table: ExtentTable) throws(BackupError) -> [UInt8] {
        var bytes: [UInt8] = []
        try copy(table) { bytes.append(contentsOf: $0) }
        return bytes
    }
}

/// A served file as a byte source: for passing stored content to code that reads files.
public final class StoredSource: ByteSource {
    private let table: ExtentTable
    private let repository: Repository

    public init(_ table: ExtentTable, in repository: Repository) {
        self.table = table
        self.repository = repository
    }

    /// Size in bytes.
    public var size: UInt64 { table.size }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try repository.read(table, at: offset, into: buffer)
    }
}

/// A stored file as a byte source whose chunks are located when it is first read.
public final class StoredContentSource: ByteSource {
    private let content: FileContent
    private let repository: Repository
    private let located = Mutex<StoredSource?>(nil)

    public init(_ content: FileContent, in repository: Repository) {
        self.content = content
        self.repository = repository
    }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let source = try located.withLock { (located) throws(BackupError) in
            if let located { return located }
            let source = StoredSource(try repository.extents(of: content), in: repository)
            located = source
            return source
        }
        return try source.read(at: offset, into: buffer)
    }
}
