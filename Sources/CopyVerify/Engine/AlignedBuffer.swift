import Glibc
import SystemIO

/// Memory for direct reads. For one thread.
final class AlignedBuffer {
    static let byteCount = 1 << 20

    let bytes: UnsafeMutableRawBufferPointer

    init() { bytes = .allocate(byteCount: Self.byteCount, alignment: UncachedFile.alignmentBytes) }

    deinit { bytes.deallocate() }

    /// The first bytes, rounded up to what a direct read takes.
    func prefix(_ count: UInt64) -> UnsafeMutableRawBufferPointer {
        let whole = UncachedFile.alignedCount(Int(min(count, UInt64(Self.byteCount))))
        return UnsafeMutableRawBufferPointer(rebasing: bytes[..<whole])
    }

    /// Whether the first bytes are these.
    func begins(with other: UnsafeRawBufferPointer) -> Bool {
        guard let own = bytes.baseAddress, let base = other.baseAddress else { return other.isEmpty }
        return memcmp(own, base, other.count) == 0
    }

    /// Whether the first bytes are all zero.
    func hasZeros(_ count: Int) -> Bool {
        guard count > 0, let base = bytes.baseAddress else { return true }
        // The first byte is zero, and each byte equals the one before it.
        return bytes[0] == 0 && memcmp(base, base + 1, count - 1) == 0
    }
}
