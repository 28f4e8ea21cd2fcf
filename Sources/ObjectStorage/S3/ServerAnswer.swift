import SystemIO

/// What a server may answer.
enum ServerAnswer {
    /// A listing of 1,000 of the longest names, all escaped, has about 4 MiB.
    static let limitBytes = 8 << 20

    private static let limits = XMLElement.Limits(
        sizeBytes: limitBytes, depth: 8, elementCount: 40_000, textSizeBytes: 16 << 10)

    /// - Returns: `nil` for anything but a whole document that a server could write.
    static func parse(_ bytes: [UInt8]) -> XMLElement? { XMLElement.parse(bytes, limits: limits) }
}
