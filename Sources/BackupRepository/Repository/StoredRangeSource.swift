import BackupCore
import Synchronization

/// A stored file of which only some ranges are read: it opens only the content lists, and finds only the chunks, that a range
/// touches. For a file that is read from its beginning to its end, `StoredContentSource` finds all places at once.
public final class StoredRangeSource: ByteSource {
    /// Lists in memory. A binary search opens fewer.
    private static let listCountLimit = 64

    private let content: FileContent
    private let repository: Repository
    private let lists = Mutex<[ChunkID: [FileContent.Element]]>([:])

    public init(_ content: FileContent, in repository: Repository) {
        self.content = content
        self.repository = repository
    }

    /// Size in bytes.
    public var size: UInt64 { content.size }

    /// - Throws: `repositoryDamaged` when a list or a chunk of the range is damaged or missing.
    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard offset < content.size, !buffer.isEmpty else { return 0 }
        let range = offset..<offset + min(UInt64(buffer.count), content.size - offset)
        var found: [FileContent.Element] = []
        var start: UInt64?
        var position: UInt64 = 0
        try collect(content.elements, in: range, depth: 0, &position, &start, &found)
        let table = ExtentTable(plainContent: try repository.pieces(of: found))
        guard let start, start <= range.lowerBound, start + table.size >= range.upperBound else {
            throw BackupError(.repositoryDamaged, "a content does not have the length it should")
        }
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(range.count)])
        return try repository.read(table, at: range.lowerBound - start, into: part)
    }

    /// - Parameters:
    ///   - position: where the elements begin in the file; moves to their end.
    ///   - start: where the first one found begins.
    private func collect(
        _ elements: [FileContent.Element], in range: Range<UInt64>, depth: Int, _ position: inout UInt64, _ start: inout UInt64?,
        _ found: inout [FileContent.Element]
    ) throws(BackupError) {
        for element in elements {
            guard position < range.upperBound else { return }
            let end = position + element.length
            guard end > range.lowerBound else {
                position = end
                continue
            }
            if case .list(let id, _) = element {
                guard depth < ContentList.depthLimit else {
                    throw BackupError(.repositoryDamaged, "content lists are nested too deep: \(id)")
                }
                try collect(open(element, id), in: range, depth: depth + 1, &position, &start, &found)
            } else {
                if start == nil { start = position }
                found.append(element)
                position = end
            }
        }
    }

    private func open(_ element: FileContent.Element, _ id: ChunkID) throws(BackupError) -> [FileContent.Element] {
        if let known = lists.withLock({ $0[id] }) { return known }
        let elements = try repository.resolver.open(element).elements
        lists.withLock { lists in
            if lists.count >= Self.listCountLimit { lists.removeAll() }
            lists[id] = elements
        }
        return elements
    }
}
