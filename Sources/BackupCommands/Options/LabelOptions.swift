import ArgumentParser
import CopyVerify

/// How the folders of a copy are named after the camera.
struct LabelOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Copy into a folder in each DEST, named after the card and, before it (prefix) or behind it (suffix), the camera.",
            valueName: "position"))
    var label: CameraLabelSettings.Position?
    @Option(name: .long, help: ArgumentHelp("The label, instead of the camera's name.", valueName: "text"))
    var labelName: String?
    @Option(
        name: .long, help: ArgumentHelp("Between the parts of the name: _ (the default), -, . or space.", valueName: "separator"))
    var labelSeparator: CameraLabelSettings.Separator = .underscore
    @Flag(name: .long, help: "End the name with the first number that is free in every DEST.")
    var labelNumbering = false
    @Flag(name: .long, help: "Put the folder into one that is named after the camera.")
    var groupByCamera = false

    /// `nil` for copies straight into the destinations.
    var settings: CameraLabelSettings? {
        label.map {
            CameraLabelSettings(
                position: $0, text: labelName, separator: labelSeparator, isNumbered: labelNumbering,
                isGroupedByCamera: groupByCamera)
        }
    }

    func validate() throws {
        guard label == nil else { return }
        if labelName != nil || labelSeparator != .underscore || labelNumbering || groupByCamera {
            throw ValidationError("These options of labels need --label prefix or --label suffix.")
        }
    }
}

extension CameraLabelSettings.Position: ExpressibleByArgument {}

extension CameraLabelSettings.Separator: ExpressibleByArgument {}
