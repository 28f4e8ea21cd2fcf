import BackupCore

/// How much of what no snapshot needs may stay, so that not every pack has to be rewritten.
public enum UnusedLimit: Sendable, Equatable {
    /// So many of a hundred bytes of the repository.
    case percent(Double)
    case bytes(UInt64)
    case unlimited

    public static let standard = UnusedLimit.percent(5)

    /// `5%`, `100M` (also K, G and T, powers of 1,024) or `unlimited`, as restic takes it.
    /// - Throws: `usage`.
    public init(parsing text: String) throws(BackupError) {
        if text == "unlimited" {
            self = .unlimited
            return
        }
        if text.hasSuffix("%") {
            if let percent = Double(text.dropLast()), percent >= 0, percent < 100 {
                self = .percent(percent)
                return
            }
        } else {
            let units: [Character: UInt64] = ["k": 10, "m": 20, "g": 30, "t": 40]
            let shift = text.last.flatMap { units[Character($0.lowercased())] }
            let digits = shift == nil ? text[...] : text.dropLast()
            if let number = UInt64(digits) {
                // More than there can be is all the same.
                self = .bytes(number.multipliedSaturating(by: 1 << (shift ?? 0)))
                return
            }
        }
        throw BackupError(
            .usage, "“\(MessageText.shortened(text))” is no limit",
            remedy: "Give a percentage such as 5%, a size such as 100M, or unlimited.")
    }

    /// - Parameter used: bytes of all chunks that are needed.
    func byteCount(used: UInt64) -> UInt64 {
        switch self {
        case .percent(let percent): Self.wholeNumber(percent / (100 - percent) * Double(used))
        case .bytes(let count): count
        case .unlimited: .max
        }
    }

    private static func wholeNumber(_ value: Double) -> UInt64 { UInt64(exactly: value.rounded(.down)) ?? .max }
}

/// What a prune did, or would do.
public struct PruneSummary: Sendable {
    /// Packs and their bytes before.
    public internal(set) var packCount = 0
    public internal(set) var byteCount: UInt64 = 0
    /// Chunks that some snapshot needs, and those that none does, with their bytes in packs.
    public internal(set) var neededChunkCount = 0
    public internal(set) var neededByteCount: UInt64 = 0
    public internal(set) var unusedChunkCount = 0
    public internal(set) var unusedByteCount: UInt64 = 0
    /// Packs that nothing needs.
    public internal(set) var removedPackCount = 0
    /// Packs of which a part is needed, and is copied.
    public internal(set) var rewrittenPackCount = 0
    /// Packs that were left as they are since they are younger than an hour, on storage that other hosts may write to.
    public internal(set) var youngPackCount = 0
    /// Packs that were written for them.
    public internal(set) var newPackCount = 0
    /// By how much the packs get smaller.
    public internal(set) var freedByteCount: UInt64 = 0
    /// What stays although nothing needs it.
    public internal(set) var remainingUnusedByteCount: UInt64 = 0
    /// Removed snapshots that stay since it is not known when they were removed; `nil` when there are none.
    public internal(set) var untimedRemovals: UntimedRemovals?
    /// Removed snapshots that stay since the clock may have jumped ahead: by it alone they could no longer be brought back.
    public internal(set) var clockHeldRemovalCount = 0
    /// Packs that were left as they are since something in them is damaged, and damaged documents of sources, whose removed snapshots stay for the longest
    /// time of grace that there is: what is damaged.
    public internal(set) var leftAlone: [BackupError] = []

    /// While a snapshot is dated later than the clock says, one of the two is wrong, and no time of grace can begin.
    public struct UntimedRemovals: Sendable {
        public let count: Int
        /// The snapshot with the latest date.
        public let latest: Snapshot
    }
}
