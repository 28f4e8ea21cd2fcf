import BackupCore
import SystemIO

/// The digests of a file; those that are not known are `nil`.
public struct FileDigests: Sendable, Equatable {
    public var sha256: SHA256Digest?
    public var md5: MD5Digest?
    public var sha1: SHA1Digest?
    public var xxh128: XXH128Digest?
    /// C4 is the text of a SHA-512.
    public var c4: SHA512Digest?
    public var xxh64: XXH64Digest?
    /// XXH3 with 64 bits.
    public var xxh3: XXH64Digest?

    public init() {}

    /// The text of a digest, as lists have it: hexadecimal digits, or a C4 ID.
    public func text(_ algorithm: HashAlgorithm) -> String? {
        switch algorithm {
        case .sha256: sha256?.hexadecimal
        case .md5: md5?.hexadecimal
        case .sha1: sha1?.hexadecimal
        case .xxh128: xxh128?.hexadecimal
        case .c4: c4.map(C4ID.encode)
        case .xxh64: xxh64?.hexadecimal
        case .xxh3: xxh3?.hexadecimal
        }
    }

    /// Takes a digest from a list.
    /// - Returns: false for a text that is no digest of this algorithm.
    @discardableResult
    public mutating func set(_ algorithm: HashAlgorithm, _ text: some StringProtocol) -> Bool {
        switch algorithm {
        case .sha256: sha256 = SHA256Digest(hexadecimal: text)
        case .md5: md5 = MD5Digest(hexadecimal: text)
        case .sha1: sha1 = SHA1Digest(hexadecimal: text)
        case .xxh128: xxh128 = XXH128Digest(hexadecimal: text)
        case .c4: c4 = C4ID.decode(text)
        case .xxh64: xxh64 = XXH64Digest(hexadecimal: text)
        case .xxh3: xxh3 = XXH64Digest(hexadecimal: text)
        }
        return has(algorithm)
    }

    /// The bytes of a digest.
    func bytes(_ algorithm: HashAlgorithm) -> [UInt8]? {
        switch algorithm {
        case .sha256: sha256?.bytes
        case .md5: md5?.bytes
        case .sha1: sha1?.bytes
        case .xxh128: xxh128?.bytes
        case .c4: c4?.bytes
        case .xxh64: xxh64?.bytes
        case .xxh3: xxh3?.bytes
        }
    }

    func has(_ algorithm: HashAlgorithm) -> Bool {
        switch algorithm {
        case .sha256: sha256 != nil
        case .md5: md5 != nil
        case .sha1: sha1 != nil
        case .xxh128: xxh128 != nil
        case .c4: c4 != nil
        case .xxh64: xxh64 != nil
        case .xxh3: xxh3 != nil
        }
    }

    /// The algorithms whose digests are known.
    public var algorithms: Set<HashAlgorithm> { Set(HashAlgorithm.allCases.filter(has)) }

    /// Whether they have a digest of one algorithm that is not the same.
    func contradict(_ other: FileDigests) -> Bool {
        algorithms.intersection(other.algorithms).contains { bytes($0) != other.bytes($0) }
    }

    /// These digests, and those of `other` that are missing here.
    func filled(from other: FileDigests) -> FileDigests {
        var filled = self
        filled.sha256 = sha256 ?? other.sha256
        filled.md5 = md5 ?? other.md5
        filled.sha1 = sha1 ?? other.sha1
        filled.xxh128 = xxh128 ?? other.xxh128
        filled.c4 = c4 ?? other.c4
        filled.xxh64 = xxh64 ?? other.xxh64
        filled.xxh3 = xxh3 ?? other.xxh3
        return filled
    }

    /// Those of some algorithms alone.
    func limited(to algorithms: Set<HashAlgorithm>) -> FileDigests {
        var limited = self
        if !algorithms.contains(.sha256) { limited.sha256 = nil }
        if !algorithms.contains(.md5) { limited.md5 = nil }
        if !algorithms.contains(.sha1) { limited.sha1 = nil }
        if !algorithms.contains(.xxh128) { limited.xxh128 = nil }
        if !algorithms.contains(.c4) { limited.c4 = nil }
        if !algorithms.contains(.xxh64) { limited.xxh64 = nil }
        if !algorithms.contains(.xxh3) { limited.xxh3 = nil }
        return limited
    }
}
