import BackupCore

/// Turns a file's elements, as they come, into a content that is short enough to stand in a directory entry: long runs go to
/// content lists, and lists of lists. Where a list ends depends on the chunks' names only, so that an edit changes the lists
/// around it and no others. Memory does not grow with the file.
struct ContentListBuilder {
    /// A content with at most so many elements is written where it is used.
    static let inlineElementLimit = 16
    private static let minimumCount = 32
    private static let maximumCount = 1024
    /// A list ends after an element whose name starts with seven zero bits: after 128 on average.
    private static let boundaryMask: UInt8 = 0xfe

    private var levels: [[FileContent.Element]] = [[]]
    private let store: @Sendable ([UInt8]) throws(BackupError) -> ChunkID

    /// - Parameter store: stores a list as a chunk of metadata.
    init(store: @escaping @Sendable ([UInt8]) throws(BackupError) -> ChunkID) { self.store = store }

    mutating func append(_ element: FileContent.Element) throws(BackupError) { try append(element, level: 0) }

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

    private mutating func append(_ element: FileContent.Element, level: Int) throws(BackupError) {
        levels[level].append(element)
        let count = levels[level].count
        if count >= Self.maximumCount || (count >= Self.minimumCount && Self.isBoundary(element)) { try cut(level: level) }
    }

    private mutating func cut(level: Int) throws(BackupError) {
        let content = FileContent(elements: levels[level])
        levels[level].removeAll(keepingCapacity: true)
        let id = try store(ContentList.encode(content))
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
