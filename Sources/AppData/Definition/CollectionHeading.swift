import BackupCore

/// A collection's name at the start of a line: `Cars`. Those of the built-in apps are translated; others are shown as their definition has them.
public enum CollectionHeading {
    public static func of(_ plural: String) -> Message {
        Message(stringLiteral: plural.prefix(1).uppercased() + plural.dropFirst())
    }
}
