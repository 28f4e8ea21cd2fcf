/// A dropped file, handed in.
public struct DropSubmission: Sendable {
    public enum Purpose: Sendable, Equatable {
        /// To be restored as the app does when nobody says otherwise.
        case restore
        /// To be restored with this strategy.
        case strategy(String)
        case preview
    }

    /// The name the person gave it.
    public let name: String
    /// Where its content lies.
    public let spoolPath: String
    public let purpose: Purpose

    public init(name: String, spoolPath: String, purpose: Purpose) {
        self.name = name
        self.spoolPath = spoolPath
        self.purpose = purpose
    }
}
