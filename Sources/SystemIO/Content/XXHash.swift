import BackupCore
import CXXHash

/// Computes the XXH3 of bytes that come in pieces, with 128 or 64 bits: for programs that compare it. It finds damage, and does
/// not withstand an attacker.
public struct XXH3Hasher: ~Copyable {
    private let state: OpaquePointer
    private let is128: Bool

    /// - Parameter is128: whether the digest has 128 bits.
    public init(is128: Bool) {
        guard let state = XXH3_createState() else { fatalError("xxHash could not allocate its state") }
        self.state = state
        self.is128 = is128
        reset()
    }

    deinit { XXH3_freeState(state) }

    private func reset() { _ = is128 ? XXH3_128bits_reset(state) : XXH3_64bits_reset(state) }

    /// Adds bytes to those so far.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        _ = is128 ? XXH3_128bits_update(state, base, bytes.count) : XXH3_64bits_update(state, base, bytes.count)
    }

    /// The digest of all bytes so far, of the 128 bits; resets the hasher.
    public mutating func finish128() -> XXH128Digest {
        var canonical = XXH128_canonical_t()
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state))
        reset()
        return withUnsafeBytes(of: canonical.digest) { XXH128Digest(exactBytes: $0) }
    }

    /// The same, of the 64 bits.
    public mutating func finish64() -> XXH64Digest {
        let digest = XXH3_64bits_digest(state)
        reset()
        return XXH64Digest(digest)
    }
}

/// Computes an XXH64, which many lists of camera media have.
public struct XXH64Hasher: ~Copyable {
    private let state: OpaquePointer

    public init() {
        guard let state = XXH64_createState() else { fatalError("xxHash could not allocate its state") }
        self.state = state
        XXH64_reset(state, 0)
    }

    deinit { XXH64_freeState(state) }

    /// Adds bytes to those so far.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        XXH64_update(state, base, bytes.count)
    }

    /// The digest of all bytes so far; resets the hasher.
    public mutating func finish() -> XXH64Digest {
        let digest = XXH64_digest(state)
        XXH64_reset(state, 0)
        return XXH64Digest(digest)
    }
}

extension XXH64Digest {
    fileprivate init(_ value: UInt64) { self = Swift.withUnsafeBytes(of: value.bigEndian) { XXH64Digest(exactBytes: $0) } }
}
