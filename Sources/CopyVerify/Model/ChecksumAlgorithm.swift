import BackupCore
import SystemIO

/// An algorithm whose checksums are computed and compared. The strongest is the first one.
public enum ChecksumAlgorithm: String, Sendable, CaseIterable {
    case sha256
    case sha1
    case md5

    /// Of a checksum.
    public var byteCount: Int {
        switch self {
        case .sha256: SHA256Digest.byteCount
        case .sha1: SHA1Digest.byteCount
        case .md5: MD5Digest.byteCount
        }
    }

    /// As in texts for people.
    public var title: String {
        switch self {
        case .sha256: "SHA-256"
        case .sha1: "SHA-1"
        case .md5: "MD5"
        }
    }
}

/// Computes the checksums of one algorithm, of one file after another.
struct ChecksumHasher: ~Copyable {
    private let algorithm: ChecksumAlgorithm
    private var digester: FileDigester

    init(_ algorithm: ChecksumAlgorithm) {
        self.algorithm = algorithm
        digester = FileDigester(sha256: algorithm == .sha256, md5: algorithm == .md5, sha1: algorithm == .sha1)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { digester.update(bytes) }

    /// Of the bytes since the last call.
    mutating func finish() -> [UInt8] {
        let digests = digester.finish()
        return switch algorithm {
        case .sha256: digests.sha256?.bytes ?? []
        case .sha1: digests.sha1?.bytes ?? []
        case .md5: digests.md5?.bytes ?? []
        }
    }
}
