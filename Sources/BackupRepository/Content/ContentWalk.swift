import BackupCore

/// Goes along a file's elements and opens content lists as it comes to them. Memory grows with the lists that are open, and not with the file.
struct ContentWalk {
    private let resolver: ContentResolver
    /// What was not passed yet, the next one last.
    private var rest: [FileContent.Element]

    init(_ content: FileContent, _ resolver: ContentResolver) {
        self.resolver = resolver
        rest = content.elements.reversed()
    }

    var isAtEnd: Bool { rest.isEmpty }
    /// The next element, be it a list.
    var unopened: FileContent.Element? { rest.last }

    /// Passes the next element, be it a list with all that is in it.
    mutating func passUnopened() { rest.removeLast() }

    /// The next element that is no list.
    /// - Parameter opened: told of each list that is opened on the way.
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
