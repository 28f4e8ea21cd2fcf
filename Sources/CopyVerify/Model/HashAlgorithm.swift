import BackupCore

/// An algorithm for the digests of files, the strongest first; the raw value is its name in results and lists.
public enum HashAlgorithm: String, Sendable, CaseIterable {
    case sha256
    /// SHA-512, written as SMPTE ST 2114 says.
    case c4
    case sha1
    case md5
    /// XXH3 with 128 bits.
    case xxh128
    case xxh64
    /// XXH3 with 64 bits.
    case xxh3

    /// Of a digest.
    public var byteCount: Int {
        switch self {
        case .c4: SHA512Digest.byteCount
        case .sha256: SHA256Digest.byteCount
        case .sha1: SHA1Digest.byteCount
        case .md5: MD5Digest.byteCount
        case .xxh128: XXH128Digest.byteCount
        case .xxh64, .xxh3: XXH64Digest.byteCount
        }
    }

    /// As in texts for people.
    public var title: String {
        switch self {
        case .c4: "C4"
        case .sha256: "SHA-256"
        case .sha1: "SHA-1"
        case .md5: "MD5"
        case .xxh128: "XXH3-128"
        case .xxh64: "XXH64"
        case .xxh3: "XXH3-64"
        }
    }

    /// How long it takes for the same bytes, about, compared with the others.
    var cost: Int {
        switch self {
        case .md5: 15
        case .c4: 14
        case .sha256: 6
        case .sha1: 5
        case .xxh128, .xxh64, .xxh3: 1
        }
    }

    /// Distributes algorithms so that two threads need about the same time.
    /// - Returns: at most two sets, none of them empty.
    static func lanes(_ algorithms: Set<HashAlgorithm>) -> [Set<HashAlgorithm>] {
        var lanes: [(cost: Int, algorithms: Set<HashAlgorithm>)] = [(0, []), (0, [])]
        let order = algorithms.sorted { ($1.cost, $0.rawValue) < ($0.cost, $1.rawValue) }
        for algorithm in order {
            let index = lanes[0].cost <= lanes[1].cost ? 0 : 1
            lanes[index].cost += algorithm.cost
            lanes[index].algorithms.insert(algorithm)
        }
        return lanes.map(\.algorithms).filter { !$0.isEmpty }
    }
}
