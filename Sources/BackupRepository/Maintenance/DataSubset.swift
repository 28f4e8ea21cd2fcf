import BackupCore

/// Which packs a check reads.
public enum DataSubset: Sendable, Equatable {
    case all
    /// This share of the packs, chosen at random for each check; at least one pack.
    case percent(Double)
    /// The first, second, … of a number of parts. A part always has the same packs, and all parts together cover all packs.
    case part(Int, of: Int)

    /// `10%`, `2.5%` or `1/5`, as in restic.
    /// - Throws: `usage`.
    public init(parsing text: String) throws(BackupError) {
        if text.hasSuffix("%"), let percent = Double(text.dropLast()), percent > 0, percent <= 100 {
            self = .percent(percent)
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, let part = Int(parts[0]), let count = Int(parts[1]), part >= 1, part <= count {
            self = .part(part, of: count)
            return
        }
        throw BackupError(
            .usage, "“\(MessageText.shortened(text))” is no part of a repository",
            remedy: "Give a percentage such as 10%, or a part such as 1/5.")
    }

    func select(_ packs: [PackInventory.Pack]) -> [PackInventory.Pack] {
        switch self {
        case .all: return packs
        case .percent(let percent):
            let count = Int((Double(packs.count) * percent / 100).rounded(.up))
            return Array(packs.shuffled().prefix(count)).sorted { $0.id < $1.id }
        case .part(let part, let count):
            return packs.filter { pack in
                // The name is a digest, so its first bytes are evenly distributed.
                let number = pack.id.digest.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
                return number % UInt64(count) == UInt64(part - 1)
            }
        }
    }
}
