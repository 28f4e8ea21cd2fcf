import BackupCore
import Synchronization
import SystemIO

/// Looks at the last files of a folder from their end on, on a thread of its own, while a walk comes from the first ones: two
/// threads then read what the kernel does not know of them yet.
final class StatusPrefetch: Sendable {
    /// Folders with fewer names take less time than waking the thread.
    private static let nameCount = 64

    private final class State: Sendable {
        let isBusy = Atomic(false)
        let mustEnd = Atomic(false)
    }

    private let state = State()
    private let pool = WorkerPool(threadCount: 1, queueLimit: 1)

    deinit { state.mustEnd.store(true, ordering: .relaxed) }

    /// Does nothing while it is still at another folder.
    func begin(_ names: [FileName], in folder: DirectoryHandle) {
        guard names.count >= Self.nameCount, !state.isBusy.exchange(true, ordering: .acquiringAndReleasing) else { return }
        pool.submit { [state] in
            defer { state.isBusy.store(false, ordering: .releasing) }
            for name in names[(names.count / 2)...].reversed() {
                if state.mustEnd.load(ordering: .relaxed) { break }
                // The walk finds what is wrong with it.
                _ = try? folder.statusIfPresent(name)
            }
        }
    }
}
