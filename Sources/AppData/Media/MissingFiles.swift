import BackupCore

/// Records whose file is missing from the media folder.
public struct MissingFiles: Sendable, Equatable {
    /// The number of examples; further records are only counted.
    static let exampleLimit = 100

    public private(set) var count = 0
    /// "photo 4: gone.jpg": the first ones.
    public private(set) var examples: [Message] = []

    public init() {}

    mutating func add(_ text: Message) {
        count += 1
        if examples.count < Self.exampleLimit { examples.append(text) }
    }

    /// For people: the examples, and the number of further ones.
    public var lines: [Message] {
        count > examples.count
            ? examples + [
                .plural(
                    count - examples.count, one: "\(count - examples.count) more file",
                    other: "\(count - examples.count) more files")
            ] : examples
    }
}
