import Synchronization

/// How long to wait for a question to storage (`PatientQuestion`). Questions to the same storage share it: while one is overdue, the others wait only briefly.
public final class StoragePatience: Sendable {
    private let nanoseconds: UInt64
    private let overdueCount = Atomic(0)

    /// Healthy storage answers faster.
    private static let shortNanoseconds: UInt64 = 20_000_000

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// For a lookup in the mount, which a person or a monitor waits for: it may take a third of a second at most.
    public static var ofMount: StoragePatience { StoragePatience(nanoseconds: 200_000_000) }

    /// Whether a question to the storage is overdue.
    public var isOverdue: Bool { overdueCount.load(ordering: .relaxed) > 0 }

    var currentNanoseconds: UInt64 { isOverdue ? min(nanoseconds, Self.shortNanoseconds) : nanoseconds }

    func noteOverdue(_ change: Int) { overdueCount.add(change, ordering: .relaxed) }
}
