/// The result for a dropped file that was accepted.
public struct DropOutcome: Sendable {
    /// The text for the user; for a preview the text of `NAME.preview.txt`.
    public let text: [UInt8]
    /// The same for programs.
    public let json: [UInt8]
    /// Whether some of the file's content was not restored: the file may then be the only copy of that.
    public let leavesSome: Bool

    public init(text: [UInt8], json: [UInt8], leavesSome: Bool = false) {
        self.text = text
        self.json = json
        self.leavesSome = leavesSome
    }
}
