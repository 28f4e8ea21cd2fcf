import BackupCore
import SystemIO

/// The content of a file: a sequence of pieces. It names chunks by their content, never by where they are stored, so it stays
/// valid when packs are rewritten.
public struct FileContent: Hashable, Sendable {
    /// One piece of a content.
    public enum Element: Hashable, Sendable {
        /// The bytes themselves.
        case literal([UInt8])
        /// All plain bytes of a chunk.
        case chunk(ChunkID, plainLength: UInt32)
        /// A chunk that holds further elements (`ContentList`), which together make up `plainLength` bytes.
        case list(ChunkID, plainLength: UInt64)

        /// Length of the plain bytes.
        public var length: UInt64 {
            switch self {
            case .literal(let bytes): UInt64(bytes.count)
            case .chunk(_, let plainLength): UInt64(plainLength)
            case .list(_, let plainLength): plainLength
            }
        }
    }

    /// In the order of the file: chunks, and short bytes that stand for themselves.
    public let elements: [Element]
    /// The file's size in bytes.
    public let size: UInt64

    /// A file of 0 bytes.
    public static let empty = FileContent(elements: [])

    /// Drops empty elements and merges adjacent literals.
    public init(elements: some Sequence<Element>) {
        var merged: [Element] = []
        var size: UInt64 = 0
        for element in elements where element.length > 0 {
            size &+= element.length
            if case .literal(let bytes) = element, case .literal(let before) = merged.last {
                merged[merged.count - 1] = .literal(before + bytes)
            } else {
                merged.append(element)
            }
        }
        self.elements = merged
        self.size = size
    }

    /// The given bytes, without a chunk.
    public init(literal bytes: [UInt8]) { self.init(elements: [.literal(bytes)]) }

    /// Concatenates several contents. Chunks and lists are reused unchanged: nothing is read or hashed.
    public static func concatenating(_ contents: some Sequence<FileContent>) -> FileContent {
        FileContent(elements: contents.flatMap(\.elements))
    }

    /// Whether chunks must be read to know all of its elements.
    public var hasLists: Bool {
        elements.contains { if case .list = $0 { true } else { false } }
    }

    /// The bytes, if all of them are in this value.
    public var literalBytes: [UInt8]? {
        if elements.isEmpty { return [] }
        guard elements.count == 1, case .literal(let bytes) = elements[0] else { return nil }
        return bytes
    }

    /// A digest that differs for different bytes; two ways to cut the same bytes may have different digests.
    public var fingerprint: SHA256Digest {
        var writer = ByteWriter()
        encode(into: &writer)
        return SHA256Hasher.hash(writer.bytes)
    }

    /// The first chunk or list is enough to distinguish contents in a hash table.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(size)
        if let first = elements.first { hasher.combine(first) }
    }
}

extension [FileContent.Element] {
    /// The IDs of the chunks among them, in order.
    var chunkIDs: [ChunkID] { compactMap { if case .chunk(let id, _) = $0 { id } else { nil } } }
}

/// The encoding of a file's content (format document, "Content").
extension FileContent {
    private enum Tag {
        static let literal: UInt8 = 0
        static let chunk: UInt8 = 1
        static let list: UInt8 = 2
    }

    func encode(into writer: inout ByteWriter) {
        writer.append(UInt32(elements.count))
        for element in elements {
            switch element {
            case .literal(let bytes):
                writer.append(Tag.literal)
                writer.append(lengthPrefixed: bytes)
            case .chunk(let id, let plainLength):
                writer.append(Tag.chunk)
                writer.append(id.digest)
                writer.append(plainLength)
            case .list(let id, let plainLength):
                writer.append(Tag.list)
                writer.append(id.digest)
                writer.append(plainLength)
            }
        }
    }

    /// - Throws: `repositoryDamaged` for anything that `encode` would not write.
    init(decoding reader: inout ByteReader) throws(BackupError) {
        let count = Int(try reader.read(UInt32.self))
        // The shortest element has 6 bytes. An impossible count is rejected before anything is allocated for it.
        guard count <= reader.remainingCount / 6 else {
            throw BackupError(.repositoryDamaged, "a content has more elements than bytes")
        }
        var elements: [Element] = []
        elements.reserveCapacity(count)
        var size: UInt64 = 0
        for _ in 0..<count {
            let element = try Self.decodeElement(&reader)
            let (sum, overflow) = size.addingReportingOverflow(element.length)
            // Rejected here: merging a million of them takes hours.
            if case .literal = element, case .literal = elements.last {
                throw BackupError(.repositoryDamaged, "a content is not in its shortest form")
            }
            guard !overflow, element.length > 0 else { throw BackupError(.repositoryDamaged, "a content's length is wrong") }
            size = sum
            elements.append(element)
        }
        self.init(elements: elements)
        guard self.elements.count == count else {
            throw BackupError(.repositoryDamaged, "a content is not in its shortest form")
        }
    }

    private static func decodeElement(_ reader: inout ByteReader) throws(BackupError) -> Element {
        switch try reader.read(UInt8.self) {
        case Tag.literal:
            return .literal(Array(try reader.readLengthPrefixed()))
        case Tag.chunk:
            let id = ChunkID(try reader.readDigest())
            return .chunk(id, plainLength: try reader.read())
        case Tag.list:
            let id = ChunkID(try reader.readDigest())
            return .list(id, plainLength: try reader.read())
        default:
            throw StructureHeader.unknown("a content has an element of a kind that this program does not know")
        }
    }
}

/// A chunk that holds elements of a file's content, for files with many chunks. Equal runs of chunks give equal lists, so files
/// and versions share them.
enum ContentList {
    private static let magic: [UInt8] = Array("BFSL".utf8)
    private static let version: UInt16 = 1
    /// Lists may contain lists; the writer never nests them deeper than this.
    static let depthLimit = 8
    /// The maximum number of pieces of a file: 4 TiB of media, or a database of 64 GiB. It limits the memory needed to open a
    /// file.
    static let pieceCountLimit = 4 << 20

    static func encode(_ content: FileContent) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: magic)
        writer.append(version)
        writer.append(UInt16(0))
        content.encode(into: &writer)
        return writer.bytes
    }

    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    static func decode(_ bytes: [UInt8]) throws(BackupError) -> FileContent {
        var reader = ByteReader(bytes)
        try StructureHeader.read(&reader, magic: magic, version: version, name: "content list")
        let content = try FileContent(decoding: &reader)
        guard reader.isAtEnd else { throw BackupError(.repositoryDamaged, "a content list has bytes after its end") }
        return content
    }
}

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

/// Iterates over a file's elements and opens content lists on the way. Memory grows with the open lists, not with the file.
struct ContentWalk {
    private let resolver: ContentResolver
    /// The elements not passed yet, the next one last.
    private var rest: [FileContent.Element]

    init(_ content: FileContent, _ resolver: ContentResolver) {
        self.resolver = resolver
        rest = content.elements.reversed()
    }

    var isAtEnd: Bool { rest.isEmpty }
    /// The next element, which may be a list.
    var unopened: FileContent.Element? { rest.last }

    /// Passes the next element; a list is passed with everything in it.
    mutating func passUnopened() { rest.removeLast() }

    /// The next element that is not a list.
    /// - Parameter opened: called with each list that is opened on the way.
    /// - Throws: `repositoryDamaged` when a list cannot be read.
    mutating func next(_ opened: (ChunkID) -> Void = { _ in }) throws(BackupError) -> FileContent.Element? {
        while let element = rest.popLast() {
            guard case .list(let id, _) = element else { return element }
            opened(id)
            rest += try resolver.open(element).elements.reversed()
        }
        return nil
    }
}
