/// Decides where the chunks of one file end.
enum ChunkCutter {
    case contentDefined(ContentDefinedCutter)
    case fixed(FixedCutter)

    /// As `ContentDefinedCutter.scan`.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int? {
        switch self {
        case .contentDefined(var cutter):
            let cut = cutter.scan(bytes)
            self = .contentDefined(cutter)
            return cut
        case .fixed(var cutter):
            let cut = cutter.scan(bytes)
            self = .fixed(cutter)
            return cut
        }
    }
}
