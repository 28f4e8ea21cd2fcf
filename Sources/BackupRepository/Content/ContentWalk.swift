import BackupCore

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
