import BackupCore

/// A dropped file, handed in.
public struct DropSubmission: Sendable {
    public enum Purpose: Sendable, Equatable {
        /// To be restored as the app does when nobody says otherwise.
        case restore
        /// To be restored with this strategy.
        case strategy(String)
        case preview
    }

    /// Where what was dropped lies.
    public enum Content: Sendable {
        /// In a file.
        case spooled(path: String)
        /// In the repository: it was copied from a snapshot's file, and nothing was moved.
        case stored(ExtentTable)
    }

    /// The name the person gave it.
    public let name: String
    public let content: Content
    public let purpose: Purpose

    public init(name: String, content: Content, purpose: Purpose) {
        self.name = name
        self.content = content
        self.purpose = purpose
    }
}
