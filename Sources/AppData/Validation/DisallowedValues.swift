import BackupCore

/// Values of the app's data that its definition does not allow: a text that is no date, a reference that leads to nothing.
public struct DisallowedValues: Sendable {
    public let count: Int
    /// Of the first few, what is wrong; of an earlier backup's none is known.
    public let examples: [Message]

    public init(count: Int, examples: [Message]) {
        self.count = count
        self.examples = examples
    }

    private var shown: Message { .joined(examples + (count > examples.count ? ["…"] : []), separator: "; ") }

    /// Behind a word.
    private var list: Message { examples.isEmpty ? "" : .joined([.verbatim(": "), shown], separator: "") }

    /// What is said where they come back as they were.
    var acceptance: Message {
        .plural(
            count, one: "The app's definition does not allow \(count) value of the backup. It comes back as it was: \(shown)",
            other: "The app's definition does not allow \(count) values of the backup. They come back as they were: \(shown)")
    }

    /// What a backup says that holds them.
    /// - Parameter comesWithRows: whether a restore can copy the rows of the backup's database as they are.
    public func warning(comesWithRows: Bool) -> Message {
        comesWithRows
            ? .plural(
                count,
                one:
                    "the app's definition does not allow \(count) value\(list). A restore of the backup by its name with --strategy replace brings it back as it is; one that merges is refused. Correct it in the app, or describe the field in another way",
                other:
                    "the app's definition does not allow \(count) values\(list). A restore of the backup by its name with --strategy replace brings them back as they are; one that merges is refused. Correct them in the app, or describe the fields in another way"
            )
            : .plural(
                count,
                one:
                    "a restore of the backup would be refused: the app's definition does not allow \(count) value\(list). Correct it in the app, or describe the field in another way",
                other:
                    "a restore of the backup would be refused: the app's definition does not allow \(count) values\(list). Correct them in the app, or describe the fields in another way"
            )
    }
}
