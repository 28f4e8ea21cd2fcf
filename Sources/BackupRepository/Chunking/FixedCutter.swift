/// Cuts pieces of equal length, for databases, whose pages do not move.
struct FixedCutter {
    private let lengthBytes: Int
    private var position = 0

    init(lengthBytes: Int) { self.lengthBytes = lengthBytes }

    /// As `ContentDefinedCutter.scan`.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let missing = lengthBytes - position
        if bytes.count < missing {
            position += bytes.count
            return nil
        }
        position = 0
        return missing
    }
}
