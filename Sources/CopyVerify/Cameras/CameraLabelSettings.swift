import Formats

/// How the folder of a copy is named after the camera.
public struct CameraLabelSettings: Sendable, Equatable {
    /// Where the label is in the name.
    public enum Position: String, Sendable, CaseIterable { case prefix, suffix }

    /// What is between the parts of the name.
    public enum Separator: String, Sendable, CaseIterable {
        case underscore = "_"
        case hyphen = "-"
        case dot = "."
        case space

        var text: String { self == .space ? " " : rawValue }
    }

    public var position: Position
    /// Instead of the camera's name.
    public var text: String?
    public var separator: Separator
    /// Whether the name ends with the first number that is free in all destinations.
    public var isNumbered: Bool
    /// Whether the folders of a camera are in a folder of its name.
    public var isGroupedByCamera: Bool

    public init(
        position: Position, text: String? = nil, separator: Separator = .underscore, isNumbered: Bool = false,
        isGroupedByCamera: Bool = false
    ) {
        self.position = position
        self.text = text
        self.separator = separator
        self.isNumbered = isNumbered
        self.isGroupedByCamera = isGroupedByCamera
    }

    // MARK: As JSON

    /// The members of a job's record.
    var members: [OrderedJSON.Member] {
        [
            .init("label", position.rawValue), .init("label_name", text), .init("label_separator", separator.rawValue),
            .init("label_numbering", isNumbered), .init("group_by_camera", isGroupedByCamera),
        ]
    }

    /// - Returns: `nil` for a job without labels.
    init?(_ members: JSONMembers) {
        guard let position: Position = members.word("label"), let separator: Separator = members.word("label_separator") else {
            return nil
        }
        self.init(
            position: position, text: members.text("label_name"), separator: separator,
            isNumbered: members.flag("label_numbering"), isGroupedByCamera: members.flag("group_by_camera"))
    }
}
