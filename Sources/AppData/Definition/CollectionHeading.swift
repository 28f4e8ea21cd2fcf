import BackupCore

/// What a collection is called at the beginning of a line: `Cars`. The built-in apps' are translated; others are told as their definition has them.
public enum CollectionHeading {
    public static func of(_ plural: String) -> Message {
        Message(stringLiteral: plural.prefix(1).uppercased() + plural.dropFirst())
    }
}
