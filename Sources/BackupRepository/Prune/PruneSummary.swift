import BackupCore

/// How much unused data may stay, so that not every pack has to be rewritten.
public enum UnusedLimit: Sendable, Equatable {
    /// A percentage of the repository's bytes.
    case percent(Double)
    case bytes(UInt64)
    case unlimited

    /// What `prune` leaves without an option: 5 % of the repository.
    public static let standard = UnusedLimit.percent(5)

    /// `5%`, `100M` (also K, G and T, powers of 1,024) or `unlimited`, as in restic.
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
                // Saturate: a limit larger than any repository has the same effect.
                self = .bytes(number.multipliedSaturating(by: 1 << (shift ?? 0)))
                return
            }
        }
        throw BackupError(
            .usage, "“\(MessageText.shortened(text))” is not a limit",
            remedy: "Give a percentage such as 5%, a size such as 100M, or unlimited.")
    }

    /// - Parameter used: bytes of all needed chunks.
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
    /// Packs and their bytes before the prune.
    public internal(set) var packCount = 0
    /// Bytes of these packs.
    public internal(set) var byteCount: UInt64 = 0
    /// Chunks that a snapshot needs and chunks that none needs, with their bytes in packs.
    public internal(set) var neededChunkCount = 0
    /// Bytes of the needed chunks.
    public internal(set) var neededByteCount: UInt64 = 0
    /// Number of the others.
    public internal(set) var unusedChunkCount = 0
    /// Bytes of the others: more than a prune frees, since it leaves some.
    public internal(set) var unusedByteCount: UInt64 = 0
    /// Packs without any needed chunk.
    public internal(set) var removedPackCount = 0
    /// Packs with some needed chunks, which are copied.
    public internal(set) var rewrittenPackCount = 0
    /// Packs that were left alone because they are less than an hour old, on storage that other hosts may write to.
    public internal(set) var youngPackCount = 0
    /// Unneeded packs of a repository in an object storage that a later prune removes: see `DoomedPacks`.
    public internal(set) var waitingPackCount = 0
    /// Bytes of these packs.
    public internal(set) var waitingByteCount: UInt64 = 0
    /// Packs that were written to replace the rewritten ones.
    public internal(set) var newPackCount = 0
    /// The number of bytes by which the packs shrink.
    public internal(set) var freedByteCount: UInt64 = 0
    /// Unused bytes that stay.
    public internal(set) var remainingUnusedByteCount: UInt64 = 0
    /// Removed snapshots that stay because their time of removal is unknown; `nil` when there are none.
    public internal(set) var untimedRemovals: UntimedRemovals?
    /// Removed snapshots that stay because the clock may have jumped ahead: by the clock alone they would have expired.
    public internal(set) var clockHeldRemovalCount = 0
    /// The damage that kept data in place: damaged packs are left alone, and the removed
    /// snapshots of a source whose document is damaged stay for the longest grace period.
    public internal(set) var leftAlone: [BackupError] = []
}
