import AppData

/// The effect of a `WireStyle` on the pieces of an export.
struct WireSpelling {
    let colon: String
    /// The text from the outermost object's last member to the end of the file.
    let end: String
    let escapesSlashes: Bool
    private let dropsFraction: Bool

    init(_ style: WireStyle) {
        let isFoundation = style == .foundation
        colon = isFoundation ? " : " : ": "
        end = isFoundation ? "\n}" : "\n}\n"
        escapesSlashes = isFoundation
        dropsFraction = isFoundation
    }

    /// - Parameter indentation: spaces before the bracket.
    func endOfEmptyArray(indentation: Int) -> String {
        escapesSlashes ? "\n\n" + String(repeating: " ", count: indentation) + "]" : "]"
    }

    /// Swift writes the shortest digits that read back as the same number.
    func text(of number: Double) -> String {
        let text = number.description
        return dropsFraction && text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
