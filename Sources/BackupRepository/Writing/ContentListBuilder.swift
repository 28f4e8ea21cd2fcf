import BackupCore

/// Turns a file's elements, as they arrive, into a content that is short enough for a directory entry: long runs go to content lists, and lists of lists. The
/// end of a list depends only on the chunks' names, so that an edit changes only the lists around it. In a file whose chunks keep their places, the lists keep
/// theirs. Memory does not grow with the file.
struct ContentListBuilder {
    /// A content with at most this many elements is stored inline.
    static let inlineElementLimit = 16
    private static let minimumCount = 32
    private static let maximumCount = 1024
    /// A list ends after an element whose name starts with seven zero bits: after 128 elements on average.
    private static let boundaryMask: UInt8 = 0xfe
    /// The length of lists that keep their places.
    private static let positionalCount = 128

    private let isPositional: Bool
    private var levels: [[FileContent.Element]] = [[]]
    private let store: @Sendable (_ list: [UInt8], _ earlier: ChunkID?) throws(BackupError) -> ChunkID

    /// - Parameters:
    ///   - isPositional: whether the file's chunks keep their places when some of them change.
    ///   - store: stores a list as a metadata chunk; receives the earlier list in its place.
    init(
        isPositional: Bool = false,
        store: @escaping @Sendable (_ list: [UInt8], _ earlier: ChunkID?) throws(BackupError) -> ChunkID
    ) {
        self.isPositional = isPositional
        self.store = store
    }

    /// - Parameter earlier: the list of the file's earlier version that contains the element's place.
    mutating func append(_ element: FileContent.Element, earlier: ChunkID? = nil) throws(BackupError) {
        try append(element, level: 0, earlier)
    }

    mutating func finish() throws(BackupError) -> FileContent {
        var level = 0
        while level < levels.count {
            // The topmost level has never been cut; if it is short, it is the content.
            let isTop = level == levels.count - 1
            if isTop, levels[level].count <= Self.inlineElementLimit { return FileContent(elements: levels[level]) }
            if !levels[level].isEmpty { try cut(level: level) }
            level += 1
        }
        return .empty
    }

    private mutating func append(
        _ element: FileContent.Element, level: Int, _ earlier: ChunkID? = nil
    ) throws(BackupError) {
        levels[level].append(element)
        if isComplete(levels[level]) { try cut(level: level, earlier) }
    }

    private func isComplete(_ list: [FileContent.Element]) -> Bool {
        if isPositional { return list.count == Self.positionalCount }
        guard list.count >= Self.minimumCount, let last = list.last else { return false }
        return list.count >= Self.maximumCount || Self.isBoundary(last)
    }

    private mutating func cut(level: Int, _ earlier: ChunkID? = nil) throws(BackupError) {
        let content = FileContent(elements: levels[level])
        levels[level].removeAll(keepingCapacity: true)
        let id = try store(ContentList.encode(content), earlier)
        if levels.count == level + 1 { levels.append([]) }
        try append(.list(id, plainLength: content.size), level: level + 1)
    }

    private static func isBoundary(_ element: FileContent.Element) -> Bool {
        switch element {
        case .literal: false
        case .chunk(let id, _), .list(let id, _): id.digest.withUnsafeBytes { $0[0] & boundaryMask == 0 }
        }
    }
}
