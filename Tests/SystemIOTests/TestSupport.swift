import TestSupport

/// Bytes that follow no simple pattern, the same ones each time.
func scrambled(_ count: Int) -> [UInt8] {
    var generator = SeededGenerator(seed: 42)
    return generator.noise(count)
}
