/// How the wire format spells JSON; what it says is the same.
public enum WireStyle: String, Sendable, CaseIterable {
    /// `"key": value`, doubles always with `.0` or exponent, a line feed at the end.
    case plain
    /// As Foundation's `JSONEncoder` with `.prettyPrinted` writes: `"key" : value`, doubles that are whole numbers without `.0`, `\/` for
    /// slashes, no line feed at the end.
    case foundation
}
