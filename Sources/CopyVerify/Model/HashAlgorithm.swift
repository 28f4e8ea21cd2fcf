import BackupCore

/// An algorithm for the digests of files; the raw value is its name in results and lists.
public enum HashAlgorithm: String, Sendable, CaseIterable {
    case sha256
    case md5
    case sha1
    /// XXH3 with 128 bits.
    case xxh128
    /// SHA-512, written as SMPTE ST 2114 says.
    case c4
    case xxh64
    /// XXH3 with 64 bits.
    case xxh3

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
