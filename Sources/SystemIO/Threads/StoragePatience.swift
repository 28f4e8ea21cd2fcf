import Synchronization

/// How long a question to storage is waited for (`PatientQuestion`). Questions to the same storage share it: while one waits in vain, the others wait for
/// a moment only.
public final class StoragePatience: Sendable {
    private let nanoseconds: UInt64
    private let overdueCount = Atomic(0)

    /// Storage that is well answers within less.
    private static let shortNanoseconds: UInt64 = 20_000_000

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// For a look at the mount, which a person or a monitor waits for: a third of a second is the most that it may take.
    public static var ofMount: StoragePatience { StoragePatience(nanoseconds: 200_000_000) }

    /// Whether a question to the storage waits in vain.
    public var isOverdue: Bool { overdueCount.load(ordering: .relaxed) > 0 }

    var currentNanoseconds: UInt64 { isOverdue ? min(nanoseconds, Self.shortNanoseconds) : nanoseconds }

    func noteOverdue(_ change: Int) { overdueCount.add(change, ordering: .relaxed) }
}
