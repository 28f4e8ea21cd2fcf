import BackupCore
import SystemIO

/// The content of a file: a sequence of pieces. It names chunks by their content, never by where they are stored, so it stays valid when packs are rewritten.
public struct FileContent: Hashable, Sendable {
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

    public let elements: [Element]
    /// The file's size in bytes.
    public let size: UInt64

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
