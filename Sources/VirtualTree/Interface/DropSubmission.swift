import BackupCore

/// A submitted dropped file.
public struct DropSubmission: Sendable {
    public enum Purpose: Sendable, Equatable {
        /// To be restored with the app's default strategy.
        case restore
        /// To be restored with this strategy.
        case strategy(String)
        case preview
    }

    /// Where the dropped content is.
    public enum Content: Sendable {
        /// In a file.
        case spooled(path: String)
        /// In the repository: it was copied from a snapshot's file, and no data was moved.
        case stored(ExtentTable)
    }

    /// The name that the user gave it.
    public let name: String
    public let content: Content
    public let purpose: Purpose

    public init(name: String, content: Content, purpose: Purpose) {
        self.name = name
        self.content = content
        self.purpose = purpose
    }
}
