/// What became of a dropped file that was accepted.
public struct DropOutcome: Sendable {
    /// What a person should know of it; the text of `NAME.preview.txt` for a preview.
    public let text: [UInt8]
    /// The same for programs.
    public let json: [UInt8]
    /// Whether the file holds something that was not restored: then it may be the only copy of that.
    public let leavesSome: Bool

    public init(text: [UInt8], json: [UInt8], leavesSome: Bool = false) {
        self.text = text
        self.json = json
        self.leavesSome = leavesSome
    }
}
