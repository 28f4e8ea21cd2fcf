import BackupCore

/// Records whose file is not in the media folder.
public struct MissingFiles: Sendable, Equatable {
    /// Those after which they are only counted.
    static let exampleLimit = 100

    public private(set) var count = 0
    /// "photo 4: gone.jpg", the first of them.
    public private(set) var examples: [Message] = []

    public init() {}

    mutating func add(_ text: Message) {
        count += 1
        if examples.count < Self.exampleLimit { examples.append(text) }
    }

    /// For people: the examples, and how many more there are.
    public var lines: [Message] {
        count > examples.count
            ? examples + [
                .plural(
                    count - examples.count, one: "\(count - examples.count) more file",
                    other: "\(count - examples.count) more files")
            ] : examples
    }
}
