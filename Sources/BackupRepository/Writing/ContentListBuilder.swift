import BackupCore

/// Turns a file's elements, as they come, into a content that is short enough to stand in a directory entry: long runs go to
/// content lists, and lists of lists. Where a list ends depends on the chunks' names only, so that an edit changes the lists
/// around it and no others; in a file whose chunks keep their places, the lists keep theirs. Memory does not grow with the file.
struct ContentListBuilder {
    /// A content with at most so many elements is written where it is used.
    static let inlineElementLimit = 16
    private static let minimumCount = 32
    private static let maximumCount = 1024
    /// A list ends after an element whose name starts with seven zero bits: after 128 on average.
    private static let boundaryMask: UInt8 = 0xfe
    /// The length of lists that keep their places.
    private static let positionalCount = 128

    private let isPositional: Bool
    private var levels: [[FileContent.Element]] = [[]]
    private let store: @Sendable (_ list: [UInt8], _ earlier: ChunkID?) throws(BackupError) -> ChunkID

    /// - Parameters:
    ///   - isPositional: whether the file's chunks keep their places when some of them change.
    ///   - store: stores a list as a chunk of metadata; given the earlier list in its place.
    init(
        isPositional: Bool = false,
        store: @escaping @Sendable (_ list: [UInt8], _ earlier: ChunkID?) throws(BackupError) -> ChunkID
    ) {
        self.isPositional = isPositional
        self.store = store
    }

    /// - Parameter earlier: the list of the file's earlier version in which the element's place is.
    mutating func append(_ element: FileContent.Element, earlier: ChunkID? = nil) throws(BackupError) {
        try append(element, level: 0, earlier)
    }

    mutating func finish() throws(BackupError) -> FileContent {
        var level = 0
        while level < levels.count {
            // The topmost level has never been cut; it is the content if it is short.
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
