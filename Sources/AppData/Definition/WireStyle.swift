/// The wire format's spelling of JSON; the content is the same.
public enum WireStyle: String, Sendable, CaseIterable {
    /// `"key": value`, doubles always with `.0` or exponent, a line feed at the end.
    case plain
    /// As Foundation's `JSONEncoder` writes it with `.prettyPrinted`: `"key" : value`, integral doubles without `.0`, `\/` for slashes, no line feed at
    /// the end.
    case foundation
}
