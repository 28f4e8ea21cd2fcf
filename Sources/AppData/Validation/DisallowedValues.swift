import BackupCore

/// Values of the app's data that its definition does not allow: a text that is not a date, a dangling reference.
public struct DisallowedValues: Sendable {
    public let count: Int
    /// Messages about the first few; empty for an earlier backup.
    public let examples: [Message]

    public init(count: Int, examples: [Message]) {
        self.count = count
        self.examples = examples
    }

    private var shown: Message { .joined(examples + (count > examples.count ? ["…"] : []), separator: "; ") }

    /// For appending to a word.
    private var list: Message { examples.isEmpty ? "" : .joined([.verbatim(": "), shown], separator: "") }

    /// The warning if they are restored unchanged.
    var acceptance: Message {
        .plural(
            count, one: "The app's definition does not allow \(count) value of the backup. It comes back as it was: \(shown)",
            other: "The app's definition does not allow \(count) values of the backup. They come back as they were: \(shown)")
    }

    /// The warning of a backup that contains them.
    /// - Parameter comesWithRows: whether a restore can copy the rows of the backup's database unchanged.
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
